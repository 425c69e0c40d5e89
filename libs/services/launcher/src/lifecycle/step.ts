import type { NodeClaim } from '@dovetail/core-api';
import type { Again } from '@dovetail/service-kit';

/**
 * The outcome of one step. `done`: the next step follows. `stalled`: the claim waits for something
 * that may never come, so its liveness is checked. `again`: it waits for a change or for a time.
 */
export type StepOutcome = 'done' | 'stalled' | { readonly again: Again };

/** The claim waits until something about it changes. */
export const untilChanged: StepOutcome = { again: undefined };

/** The claim waits for a change, or for this time. */
export const within = (afterMs: number): StepOutcome => ({ again: { afterMs } });

/**
 * One step in the life of a claim. It reads claim and node as they are now, and may be repeated.
 */
export type Step = (claim: NodeClaim) => Promise<StepOutcome>;
