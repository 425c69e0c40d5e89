import {
  afterCommand,
  afterJudging,
  type Candidate,
  type Command,
  consolidationCandidates,
  judgeReplacement,
  nextSize,
  prefixesOf,
  priceOf,
  togetherInOrder,
  unsettledAmong,
} from '@dovetail/core-disruption';
import { uprooted } from '@dovetail/core-kube-model';
import { plan } from '@dovetail/core-scheduling';

import { type Aged, inputOf } from './aged.js';

/**
 * Where Karpenter's rules lead, with Dovetail's planner in the place of its scheduler: the price of
 * all nodes, and the pods that move on the way.
 */
export type Settled = {
  readonly price: number;
  readonly evictions: number;
  readonly commands: number;
};

type Input = Aged['input'];

/** The command that gives up these nodes, if Karpenter's rules allow it. It buys one at most. */
function judged(input: Input, group: readonly Candidate[]): Command | undefined {
  const out = new Set(group.map(({ view }) => view.node.uid));
  const pods = group.flatMap((candidate) => candidate.pods).map(uprooted);
  const nodes = input.snapshot.nodes.filter(({ uid }) => !out.has(uid));
  const made = plan({ ...input.snapshot, nodes }, pods, input.options);
  const unsettled = unsettledAmong(input.views, input.eligibility.nowMs);
  const rules = { ...input.rules, savingMin: 1, savingShareMin: 0, moveCostMicrosPerHour: 0 };
  const answer = judgeReplacement(
    group,
    { plan: made, position: input.position },
    unsettled,
    rules,
  );
  return answer.kind === 'command' ? answer.command : undefined;
}

/** The longest prefix of the nodes that can go together, by Karpenter's binary search. */
function together(input: Input): Command | undefined {
  const { candidates, allowed } = consolidationCandidates(input.views, input.eligibility);
  const inOrder = togetherInOrder(candidates, allowed);
  let search = prefixesOf(inOrder.length);
  let found: Command | undefined;
  for (let size = nextSize(search); size !== undefined; size = nextSize(search)) {
    const command = judged(input, inOrder.slice(0, size));
    found = command ?? found;
    search = afterJudging(search, { size, canGo: command !== undefined });
  }
  return found;
}

/** The first node that can go alone, the most money per disruption first. */
function alone(input: Input): Command | undefined {
  const { candidates } = consolidationCandidates(input.views, input.eligibility);
  for (const candidate of candidates) {
    const command = judged(input, [candidate]);
    if (command !== undefined) return command;
  }
  return undefined;
}

/**
 * Carries out one command of Karpenter's rules after the other, several nodes first, until none is
 * left. Its own scheduler packs less tightly than the planner that stands in for it here.
 */
export function settleByKarpenter({ input, pool, spec }: Aged): Settled {
  let now = input;
  let evictions = 0;
  let commands = 0;
  for (;;) {
    const command = together(now) ?? alone(now);
    if (command === undefined) break;
    const pods = new Map(
      now.snapshot.nodes.flatMap((node) => node.pods.map((pod) => [pod.uid, pod] as const)),
    );
    evictions += command.moves.length;
    commands += 1;
    now = inputOf(spec, pool, afterCommand(now.snapshot, command, pods));
  }
  return { price: now.views.reduce((sum, view) => sum + priceOf(view), 0), evictions, commands };
}
