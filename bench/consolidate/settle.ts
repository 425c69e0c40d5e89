import { type Consolidation, priceOf, searchInSlices } from '@dovetail/core-disruption';

import { type Aged, inputOf } from './aged.js';

/** One pass over a cluster: a search, and what its commands do. */
export type Pass = {
  readonly found: Consolidation;
  /** Processor time of this process, and the longest time that one slice held its thread. */
  readonly cpuSeconds: number;
  readonly sliceMsMax: number;
  readonly evictions: number;
  /** Micro-dollars an hour, once all commands are done. */
  readonly price: number;
};

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const priceOfAll = ({ input }: Aged): number =>
  input.views.reduce((sum, view) => sum + priceOf(view), 0);

const savedBy = ({ commands }: Consolidation): number =>
  commands.reduce(
    (sum, each) => sum + each.priceBeforeMicrosPerHour - each.priceAfterMicrosPerHour,
    0,
  );

/** Searches once, for so much processor time at most. */
function passOver(aged: Aged, budgetSeconds: number): Pass {
  const startMs = cpuMs();
  const slices = searchInSlices(aged.input, {
    triesMax: 1_000_000,
    shouldStop: () => cpuMs() - startMs > budgetSeconds * 1000,
  });
  let sliceMsMax = 0;
  for (;;) {
    const [sliceCpuMs, sliceMs] = [cpuMs(), performance.now()];
    const { done, value } = slices.next();
    // The processor time counts threads that compile and collect garbage, the clock other work.
    const heldMs = Math.min(cpuMs() - sliceCpuMs, performance.now() - sliceMs);
    sliceMsMax = Math.max(sliceMsMax, heldMs);
    if (done !== true) continue;
    return {
      found: value,
      cpuSeconds: (cpuMs() - startMs) / 1000,
      sliceMsMax,
      evictions: value.commands.reduce((sum, { moves }) => sum + moves.length, 0),
      price: priceOfAll(aged) - savedBy(value),
    };
  }
}

/** The most passes until a cluster counts as settled. */
const passesMax = 8;

/**
 * Passes over a cluster until one finds nothing. Between two of them, all commands are done, and
 * the time in which moved pods are left alone is over.
 */
export function settle(aged: Aged, budgetSeconds: number): readonly Pass[] {
  const passes: Pass[] = [];
  let now = aged;
  for (let round = 0; round < passesMax; round += 1) {
    const pass = passOver(now, budgetSeconds);
    passes.push(pass);
    if (pass.found.commands.length === 0) break;
    now = { ...now, input: inputOf(aged.spec, aged.pool, pass.found.after) };
  }
  return passes;
}
