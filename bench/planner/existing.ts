import { crowdedWorld } from '../worlds/crowded.js';
import { digestOf, prove, timedPlan } from './measure.js';

/** A number of pods over a number of existing nodes. */
export type ExistingCase = { readonly name: string; readonly pods: number; readonly nodes: number };

/**
 * `heapMebibytes` is the most memory that the whole process ever held, so measure this row alone.
 */
export type ExistingRow = {
  readonly kind: 'existing';
  readonly name: string;
  readonly pods: number;
  readonly nodes: number;
  readonly seconds: number;
  readonly heapMebibytes: number;
  readonly placed: number;
  readonly newNodes: number;
  readonly digest: string;
  readonly met: boolean;
};

export const existingCases = (quick: boolean): readonly ExistingCase[] =>
  quick ? [] : [{ name: 'existing 100000 pods, 2000 nodes', pods: 100_000, nodes: 2_000 }];

/** Measures one plan over existing nodes: its time, and the process' memory afterwards. */
export function existingRow(one: ExistingCase): ExistingRow {
  const world = crowdedWorld({ pods: one.pods, nodes: one.nodes, seed: 1 });
  const timed = timedPlan(world, 0);
  const seconds = Math.min(timed.wallMs, timed.cpuMs) / 1000;
  const heapMebibytes = process.resourceUsage().maxRSS / 1024;
  prove(world, timed.plan);
  const placed = timed.plan.placements.reduce(
    (sum, placement) => sum + placement.podUids.length,
    0,
  );
  return {
    kind: 'existing',
    name: one.name,
    pods: world.pods.length,
    nodes: world.snapshot.nodes.length,
    seconds,
    heapMebibytes,
    placed,
    newNodes: timed.plan.newNodes.length,
    digest: digestOf(timed.plan),
    met: seconds < 5 && heapMebibytes < 1024,
  };
}
