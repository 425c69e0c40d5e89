import {
  afterJudging,
  type Candidate,
  type Candidates,
  nextSize,
  prefixesOf,
  togetherInOrder,
} from '@dovetail/core-disruption';
import type { StopSignal } from '@dovetail/core-ports';

import type { ReaperContext } from '../context.js';
import { countTimeout } from '../retire/disruption-counts.js';
import { type JudgedAnswer, judgeLive } from './judging.js';

/**
 * A command, the answer that it was judged on, and the nodes that it was let use: absent, all.
 */
export type Proposed = Extract<JudgedAnswer, { readonly kind: 'command' }> & {
  readonly candidates: readonly Candidate[];
  readonly openNodes?: readonly string[];
};

/**
 * Searches the most nodes that can go together (Karpenter's multi-node consolidation). When the
 * time is over, the last that were found count. Undefined: no two can.
 */
export async function searchTogether(
  context: ReaperContext,
  { candidates, allowed, totals }: Candidates,
  stop: StopSignal,
): Promise<Proposed | undefined> {
  const { clock, metrics } = context.deps;
  const untilMs = clock.nowMs() + context.config.disruption.togetherSearchMsMax;
  const inOrder = togetherInOrder(candidates, allowed);
  let search = prefixesOf(inOrder.length);
  let found: Proposed | undefined;
  for (let size = nextSize(search); size !== undefined; size = nextSize(search)) {
    if (clock.nowMs() >= untilMs) countTimeout(metrics, 'multi');
    if (stop.aborted || clock.nowMs() >= untilMs) return found;
    const prefix = inOrder.slice(0, size);
    // Without an answer, fewer nodes are asked for: a smaller question is answered sooner.
    const judged = await judgeLive(context, prefix, { totals, mayBuy: true });
    const canGo = judged?.kind === 'command';
    if (canGo) found = { ...judged, candidates: prefix };
    search = afterJudging(search, { size, canGo });
  }
  return found;
}

/** The same nodes as candidates now; undefined if one of them is none, or its budget is spent. */
export function sameAmong(
  nodes: readonly Candidate[],
  { candidates, allowed }: Pick<Candidates, 'candidates' | 'allowed'>,
): readonly Candidate[] | undefined {
  const uids = new Set(nodes.map(({ view }) => view.claim.uid));
  const still = candidates.filter(({ view }) => uids.has(view.claim.uid));
  const within = togetherInOrder(still, allowed);
  return within.length === nodes.length ? within : undefined;
}
