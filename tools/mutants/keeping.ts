import type { Mutant } from './mutant.js';

const services = 'libs/services';
const disruption = 'libs/core/disruption/src';

/** A mistake that a random story of the world `keeping` finds, and the seed of that story. */
type Found = Omit<Mutant, 'tests' | 'named'> & { readonly seed: number };

const found: readonly Found[] = [
  {
    place: `${disruption}/retirement.ts`,
    from: 'return voluntaryStep(facts, retirement.atMs + facts.limits.consolidationWaitMs);',
    to: 'return endStep(facts);',
    means: 'an under-used node ends before its pods have room',
    seed: 16,
  },
  {
    place: `${services}/reaper/src/consolidate/shared-commands.ts`,
    from: 'await deleteCommandRecord(deps.kube, record);',
    to: '',
    means: 'the resource of a command that is over stays for ever',
    seed: 4,
  },
];

/** Mistakes in what keeps a cluster cheap, which a whole story must find. */
export const keepingMutants: readonly Mutant[] = found.map(({ seed, ...mutant }) => ({
  ...mutant,
  tests: 'tests/stories/src/simulation/keeping',
  named: `with seed ${String(seed)}$`,
}));
