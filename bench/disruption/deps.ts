import type { createReaper } from '@dovetail/service-reaper';

/** The outside that a reaper reaches. */
export type ReaperDeps = Parameters<typeof createReaper>[0];
