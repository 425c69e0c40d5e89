import type { Mutant } from './mutant.js';

const services = 'libs/services';
const disruption = 'libs/core/disruption/src';

/** A mistake that a random story of the world `keeping` finds, and the seed of that story. */
type Found = Omit<Mutant, 'tests' | 'named'> & { readonly seed: number };

const found: readonly Found[] = [
  {
    place: `${disruption}/retire/retirement.ts`,
    from: "needy.every(({ uid }) => facts.rooms.get(uid) === 'ready')",
    to: 'needy.every(({ uid }) => facts.rooms.get(uid) !== undefined)',
    means: 'a node ends while the room of its pods still boots',
    seed: 16,
  },
  {
    place: `${services}/reaper/src/retire/commands.ts`,
    from: 'else await writeCommandEnd(deps.kube, record, deps.clock.nowMs());',
    to: '',
    means: 'a command is never over',
    seed: 4,
  },
];

/** Mistakes in what keeps a cluster cheap, which a whole story must find. */
export const keepingMutants: readonly Mutant[] = found.map(({ seed, ...mutant }) => ({
  ...mutant,
  tests: 'tests/stories/src/simulation/keeping',
  named: `with seed ${String(seed)}$`,
}));
