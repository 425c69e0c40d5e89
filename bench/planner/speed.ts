import type { LpSolver } from '@dovetail/core-ports';
import type { Bound } from '@dovetail/core-scheduling';

import { diverseWorld } from '../worlds/diverse.js';
import { generatedWorld } from '../worlds/generated.js';
import { type BenchWorld } from '../worlds/objects.js';
import { boundFor, digestOf, firstPlan, msOf, prove } from './measure.js';
import { type PeerResult, planWithPeer } from './peer.js';

/**
 * Worlds whose first plans are timed beside Karpenter's. If there is a target: how many times as
 * fast they should be together.
 */
export type SpeedCase = {
  readonly name: string;
  readonly worlds: () => readonly BenchWorld[];
  readonly wanted?: number;
  /**
   * Whether it may open no more nodes than Karpenter. If one node a pod is not much dearer than
   * another, a plan may use more and smaller ones.
   */
  readonly noMoreNodes: boolean;
};

/** One row of the table of speeds: the sums over its worlds. Prices are US dollars per hour. */
export type SpeedRow = {
  readonly kind: 'speed';
  readonly name: string;
  readonly worlds: number;
  readonly pods: number;
  readonly classes: number;
  readonly ms: number;
  readonly podsPerSecond: number;
  readonly nodes: number;
  readonly cost: number;
  /**
   * The best lower bound, the relaxation that gave it, and the first plan's distance above it in
   * percent.
   */
  readonly bound: number;
  readonly boundKind: string;
  readonly gap: number;
  readonly digest: string;
  readonly karpenter?: {
    readonly ms: number;
    readonly podsPerSecond: number;
    readonly nodes: number;
    readonly cost: number;
    readonly times: number;
    readonly wanted?: number;
    readonly met?: boolean;
  };
};

const sizes = [Infinity, 32, 16] as const;
const sizeName = (vcpusMax: number): string =>
  Number.isFinite(vcpusMax) ? `<=${vcpusMax} vCPU` : 'any size';
const plainWorlds = (vcpusMax: number): readonly BenchWorld[] =>
  [1, 2, 3].map((seed) => generatedWorld({ pods: 3_000, seed, vcpusMax, rules: 'plain' }));

/**
 * The diverse mix of Karpenter's own benchmark, and the plain worlds: all together, and by the
 * largest size allowed.
 */
export function speedCases(quick: boolean): readonly SpeedCase[] {
  const diverse = (
    [
      [1_000, 30],
      [5_000, 50],
      [10_000, 70],
      [20_000, 100],
    ] as const
  ).map(([pods, wanted]): SpeedCase => ({
    name: `diverse ${pods}`,
    worlds: () => [diverseWorld(pods)],
    wanted,
    noMoreNodes: true,
  }));
  const plain: readonly SpeedCase[] = [
    {
      name: 'fast plain 3000',
      worlds: () => sizes.flatMap(plainWorlds),
      wanted: 200,
      noMoreNodes: false,
    },
    ...sizes.map((vcpusMax) => ({
      name: `fast plain 3000 ${sizeName(vcpusMax)}`,
      worlds: () => plainWorlds(vcpusMax),
      noMoreNodes: false,
    })),
  ];
  return quick ? diverse.slice(0, 1) : [...diverse, ...plain];
}

/**
 * Small worlds are planned more often. Only then is the code compiled, as in a service that has
 * been planning for a minute.
 */
const warmRuns = (pods: number): number => Math.max(5, Math.ceil(150_000 / pods));

type Measured = {
  readonly pods: number;
  readonly classes: number;
  readonly ms: number;
  readonly nodes: number;
  readonly micros: number;
  readonly bound: Bound;
  readonly digest: string;
  readonly peer?: PeerResult;
};

async function measured(
  world: BenchWorld,
  what: { readonly peer: boolean; readonly lp: LpSolver },
): Promise<Measured> {
  const timed = firstPlan(world, warmRuns(world.pods.length));
  prove(world, timed.plan);
  return {
    pods: world.pods.length,
    classes: timed.plan.stats.classes,
    ms: msOf(timed),
    nodes: timed.plan.newNodes.length,
    micros: timed.plan.priceMicrosPerHour,
    bound: await boundFor(world, what.lp),
    digest: digestOf(timed.plan),
    ...(what.peer ? { peer: await planWithPeer(world) } : {}),
  };
}

/** Our half of a row. */
function ownRow(one: SpeedCase, all: readonly Measured[]): SpeedRow {
  const sum = (of: (each: Measured) => number): number =>
    all.reduce((total, each) => total + of(each), 0);
  const ms = sum((each) => each.ms);
  const cost = sum((each) => each.micros) / 1e6;
  const bound = sum((each) => each.bound.priceMicrosPerHour) / 1e6;
  const digestLength = Math.max(4, Math.floor(12 / all.length));
  return {
    kind: 'speed',
    name: one.name,
    worlds: all.length,
    pods: sum((each) => each.pods),
    classes: sum((each) => each.classes),
    ms,
    podsPerSecond: (sum((each) => each.pods) / ms) * 1000,
    nodes: sum((each) => each.nodes),
    cost,
    bound,
    boundKind: [...new Set(all.map((each) => each.bound.kind))].sort().join(', '),
    gap: bound > 0 ? (cost / bound - 1) * 100 : 0,
    digest: all.map(({ digest }) => digest.slice(0, digestLength)).join(''),
  };
}

/** Karpenter's half of a row, and whether we reach the wanted factor at no higher cost. */
function besideKarpenter(
  one: SpeedCase,
  mine: SpeedRow,
  peers: readonly NonNullable<Measured['peer']>[],
): NonNullable<SpeedRow['karpenter']> {
  const sum = (of: (peer: NonNullable<Measured['peer']>) => number): number =>
    peers.reduce((total, peer) => total + of(peer), 0);
  const ms = sum((peer) => Math.min(peer.solveMilliseconds, peer.solveCpuMilliseconds));
  const nodes = sum((peer) => peer.nodes.length);
  const cost = sum((peer) => peer.pricePerHour);
  const times = ms / mine.ms;
  const theirs = { ms, podsPerSecond: (mine.pods / ms) * 1000, nodes, cost, times };
  if (one.wanted === undefined) return theirs;
  const noMore = mine.cost <= cost * (1 + 1e-9) && (!one.noMoreNodes || mine.nodes <= nodes);
  return { ...theirs, wanted: one.wanted, met: times >= one.wanted && noMore };
}

/** Measures one case: first plans, warm, on one thread, proven by the checker. */
export async function speedRow(
  one: SpeedCase,
  what: { readonly peer: boolean; readonly lp: LpSolver },
): Promise<SpeedRow> {
  const all: Measured[] = [];
  for (const world of one.worlds()) all.push(await measured(world, what));
  const mine = ownRow(one, all);
  const peers = all.flatMap((each) => each.peer ?? []);
  if (peers.length < all.length) return mine;
  return { ...mine, karpenter: besideKarpenter(one, mine, peers) };
}
