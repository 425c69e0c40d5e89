import { evenWorld } from '../worlds/generated.js';
import { digestOf, firstPlan, msOf, prove } from './measure.js';

/** A number of pods in a number of classes. */
export type CurveCase = { readonly name: string; readonly pods: number; readonly classes: number };

/** One point of the curve: the first plan's time, and the time for each class. */
export type CurveRow = {
  readonly kind: 'curve';
  readonly name: string;
  readonly pods: number;
  readonly classes: number;
  readonly ms: number;
  readonly msPerClass: number;
  readonly nodes: number;
  readonly digest: string;
};

/** Pods grow at a fixed number of classes, then classes at a fixed number of pods. */
export function curveCases(quick: boolean): readonly CurveCase[] {
  const points = [
    [1_000, 100],
    [10_000, 100],
    [100_000, 100],
    [20_000, 10],
    [20_000, 100],
    [20_000, 1_000],
    [20_000, 5_000],
  ] as const;
  return points
    .slice(0, quick ? 2 : points.length)
    .map(([pods, classes]) => ({ name: `curve ${pods} pods, ${classes} classes`, pods, classes }));
}

/** Measures the first plan of one point. */
export function curveRow(one: CurveCase): CurveRow {
  const world = evenWorld({ pods: one.pods, classes: one.classes, seed: 1 });
  const timed = firstPlan(world, 3);
  prove(world, timed.plan);
  const ms = msOf(timed);
  const { classes } = timed.plan.stats;
  return {
    kind: 'curve',
    name: one.name,
    pods: world.pods.length,
    classes,
    ms,
    msPerClass: ms / classes,
    nodes: timed.plan.newNodes.length,
    digest: digestOf(timed.plan),
  };
}
