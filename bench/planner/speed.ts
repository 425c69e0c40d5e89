import { diverseWorld, generatedWorld, type BenchWorld } from '../worlds.js';
import type { LpSolver } from '@dovetail/core-ports';
import { boundFor, digestOf, firstPlan, msOf, prove } from './measure.js';
import { planWithPeer } from './peer.js';

/** A world whose first plan is timed beside Karpenter's, and how many times as fast it should be. */
export type SpeedCase = { readonly name: string; readonly world: () => BenchWorld; readonly wanted: number };

/** One row of the table of speeds. Prices are US dollars per hour. */
export type SpeedRow = {
  readonly kind: 'speed';
  readonly name: string;
  readonly pods: number;
  readonly classes: number;
  readonly ms: number;
  readonly podsPerSecond: number;
  readonly nodes: number;
  readonly cost: number;
  /** The best lower bound, which relaxation gave it, and how far the first plan is above it, percent. */
  readonly bound: number;
  readonly boundKind: string;
  readonly gap: number;
  readonly digest: string;
  readonly karpenter?: { readonly ms: number; readonly podsPerSecond: number; readonly nodes: number; readonly cost: number; readonly times: number; readonly wanted: number; readonly met: boolean };
};

/** The diverse mix of Karpenter's own benchmark, and plain worlds. */
export function speedCases(quick: boolean): readonly SpeedCase[] {
  const diverse = ([[1_000, 30], [5_000, 50], [10_000, 70], [20_000, 100]] as const).map(([pods, wanted]): SpeedCase => ({ name: `diverse ${pods}`, world: () => diverseWorld(pods), wanted }));
  const plain = [Infinity, 32, 16].map((vcpusMax): SpeedCase => ({ name: `fast plain 3000, ${Number.isFinite(vcpusMax) ? `<=${vcpusMax} vCPU` : 'any size'}`, world: () => generatedWorld({ pods: 3_000, seed: 1, vcpusMax, rules: 'plain' }), wanted: 200 }));
  return quick ? diverse.slice(0, 1) : [...diverse, ...plain];
}

/** Small worlds are planned more often: only then is the code compiled, as it is in a service that has been planning for a minute. */
const warmRuns = (pods: number): number => Math.max(5, Math.ceil(60_000 / pods));

/** Measures one case: the first plan, warm, on one thread, proven by the checker. */
export async function speedRow(one: SpeedCase, what: { readonly peer: boolean; readonly lp: LpSolver }): Promise<SpeedRow> {
  const world = one.world();
  const timed = firstPlan(world, warmRuns(world.pods.length));
  prove(world, timed.plan);
  const ms = msOf(timed);
  const { length: nodes } = timed.plan.newNodes;
  const cost = timed.plan.priceMicrosPerHour / 1e6;
  const podsPerSecond = (world.pods.length / ms) * 1000;
  const bound = await boundFor(world, what.lp);
  const gap = bound.priceMicrosPerHour > 0 ? (timed.plan.priceMicrosPerHour / bound.priceMicrosPerHour - 1) * 100 : 0;
  const mine: SpeedRow = {
    kind: 'speed', name: one.name, pods: world.pods.length, classes: timed.plan.stats.classes, ms, podsPerSecond, nodes, cost,
    bound: bound.priceMicrosPerHour / 1e6, boundKind: bound.kind, gap, digest: digestOf(timed.plan),
  };
  if (!what.peer) return mine;
  const peer = await planWithPeer(world);
  const peerMs = Math.min(peer.solveMilliseconds, peer.solveCpuMilliseconds);
  const times = peerMs / ms;
  const met = times >= one.wanted && cost <= peer.pricePerHour * (1 + 1e-9) && nodes <= peer.nodes.length;
  return { ...mine, karpenter: { ms: peerMs, podsPerSecond: (peer.pods / peerMs) * 1000, nodes: peer.nodes.length, cost: peer.pricePerHour, times, wanted: one.wanted, met } };
}
