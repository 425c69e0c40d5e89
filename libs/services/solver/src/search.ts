import type { FoundCommand, SearchReply, SearchRequest } from '@dovetail/contracts';
import { type NodeClaim, poolKey } from '@dovetail/core-api';
import {
  type Command,
  keepingRoom,
  type NodeView,
  searchInSlices,
} from '@dovetail/core-disruption';
import type { PlanOptions } from '@dovetail/core-scheduling';

import type { Mirror } from './mirror.js';
import { OwnTime } from './own-time.js';
import { snapshotOf } from './snapshot.js';
import { waitingIn } from './waiting.js';

/** The most plans of one search. Time ends most searches earlier. */
const triesMax = 1_000_000;
/**
 * The commands that an answer names at most. The reaper begins as many as budgets allow, and asks
 * again before it has begun so many.
 */
const commandsMax = 100;
/**
 * The time of one plan, in milliseconds. Between two plans the event loop turns. It trades the wait
 * of what is answered there for the price that a plan of a whole region finds.
 */
const sliceMs = 200;

/** The rules and the times of a search. */
type SearchOptions = {
  readonly options: PlanOptions;
  readonly budgetMs: number;
  readonly nowMs: () => number;
  /** Called between the steps of a plan; see `PlanOptions.giveWay`. */
  readonly giveWay?: (() => void) | undefined;
};

/**
 * Searches the mirror as it is now for nodes to give up. Which nodes may go is the reaper's to say:
 * the mirror has no PodDisruptionBudgets. Waiting pods have their places first. It yields before
 * each plan. The reaper judges each command again before it acts.
 */
export function* searchOn(
  mirror: Mirror,
  request: SearchRequest,
  { options: given, budgetMs, nowMs, giveWay }: SearchOptions,
): Generator<undefined, SearchReply> {
  const startMs = nowMs();
  const slice = new OwnTime(nowMs, giveWay);
  const options = { ...given, ...slice.options(sliceMs) };
  const known = snapshotOf(mirror, { without: new Set(), moving: new Set(), nowMs: startMs });
  const { savingMinMicrosPerHour: savingMin, savingMinPpm, ...more } = request;
  const { spotToSpot, moveCostMicrosPerHour } = more;
  const savingShareMin = savingMinPpm / 1e6;
  const rules = { spotToSpot, savingMin, savingShareMin, moveCostMicrosPerHour };
  const prices = new Map(known.nodes.map((node) => [node.uid, node.priceMicrosPerHour]));
  // The mirror may go on while a plan gives way, so all is read before the first plan.
  const { incarnation, sequence } = mirror.position;
  const views = [...mirror.cluster.claims.values()].map((claim) => viewOf(mirror, claim, prices));
  const { snapshot, nodeUids: promised } = keepingRoom(known, waitingIn(mirror), options);
  const input = {
    snapshot,
    views,
    eligibility: { ...eligibilityOf(mirror, request, promised), nowMs: startMs },
    rules,
    options,
    position: { incarnation, sequence },
    // The reaper begins as many commands as budgets allow, and the others when those have ended.
    budgets: 'each' as const,
  };
  const slices = searchInSlices(input, {
    triesMax,
    shouldStop: () => nowMs() >= startMs + budgetMs,
  });
  for (;;) {
    yield;
    slice.begin();
    const { done, value } = slices.next();
    if (done !== true) continue;
    const { commands, tries, ended } = value;
    const complete = ended === 'complete' && commands.length <= commandsMax;
    return { commands: commands.slice(0, commandsMax).map(foundOf), complete, tries };
  }
}

function viewOf(
  { cluster }: Mirror,
  claim: NodeClaim,
  prices: ReadonlyMap<string, number | undefined>,
): NodeView {
  const node = cluster.nodeOfClaim(claim);
  const priceMicrosPerHour = prices.get(node?.uid ?? claim.uid);
  const pool = cluster.pools.one('key', poolKey(claim.pool));
  return {
    claim,
    pods: node === undefined ? [] : cluster.pods.by('node', node.name),
    ...(node === undefined ? {} : { node }),
    ...(pool === undefined ? {} : { pool }),
    ...(priceMicrosPerHour === undefined ? {} : { priceMicrosPerHour }),
  };
}

/** Lets the nodes go that the request names, unless waiting pods go to them. */
function eligibilityOf(
  { cluster }: Mirror,
  { claimUids }: SearchRequest,
  promised: ReadonlySet<string>,
) {
  const named = new Set(claimUids);
  const pausedUntilMs = (claim: NodeClaim): number | undefined =>
    !named.has(claim.uid) || promised.has(cluster.nodeOfClaim(claim)?.uid ?? claim.uid)
      ? Infinity
      : undefined;
  return { budgetsOf: () => [], podOf: (uid: string) => cluster.pods.get(uid), pausedUntilMs };
}

function foundOf(command: Command): FoundCommand {
  const { nodesOut, nodesIn, moves, priceBeforeMicrosPerHour, priceAfterMicrosPerHour } = command;
  const open = moves.flatMap(({ to }) => (to.kind === 'node' ? [to.nodeName] : []));
  return {
    claimUids: nodesOut.map(({ claimUid }) => claimUid),
    openNodes: [...new Set(open)].sort(),
    nodesIn: nodesIn.length,
    savedMicrosPerHour: priceBeforeMicrosPerHour - priceAfterMicrosPerHour,
  };
}
