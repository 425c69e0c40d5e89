import {
  type Command,
  destinationsOf,
  type DisruptionNote,
  movedHereBy,
  pauseEndsMs,
  type Restraint,
  restraintOn,
} from '@dovetail/core-disruption';

import type { ReaperContext } from '../context.js';
import { writeMovedHere } from '../outside/claim-edits.js';

const restraintNow = ({ config, deps }: ReaperContext): Restraint => ({
  movePauseMs: config.disruption.movePauseMs,
  nowMs: deps.clock.nowMs(),
});

/** When a pause of pods that a command has moved ends next. Infinity: none is under way. */
export const nextPauseEndMs = (context: ReaperContext): number =>
  pauseEndsMs(context.cluster.claims.values(), restraintNow(context));

/** Why a command would move pods again that a command has just moved; undefined: it does not. */
export function movedTooSoon(context: ReaperContext, command: Command): DisruptionNote | undefined {
  const { claims } = context.cluster;
  const out = command.nodesOut.flatMap(({ claimUid }) => claims.get(claimUid) ?? []);
  return restraintOn(command, out, restraintNow(context));
}

/**
 * Marks the claims of the nodes that a command moves pods to. It comes before the first taint: a
 * crash in between leaves marks that end by themselves.
 */
export async function markDestinations(context: ReaperContext, command: Command): Promise<void> {
  const { cluster, deps, config } = context;
  if (config.disruption.movePauseMs === 0) return;
  for (const nodeUid of destinationsOf(command)) {
    const node = cluster.nodes.get(nodeUid);
    const claim = node === undefined ? undefined : cluster.claimOfNode(node);
    if (claim === undefined) continue;
    await writeMovedHere(deps.kube, claim, movedHereBy(command, claim, restraintNow(context)));
  }
}
