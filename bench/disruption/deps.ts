import type { createReaper } from '@dovetail/service-reaper';

/** What a reaper needs of the outside. */
export type ReaperDeps = Parameters<typeof createReaper>[0];
