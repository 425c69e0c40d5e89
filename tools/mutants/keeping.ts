import type { Mutant } from './mutant.js';

const reaper = 'libs/services/reaper/src';
const disruption = 'libs/core/disruption/src';

/** A mistake that a random story of the world `keeping` finds, and the seed of that story. */
type Found = Omit<Mutant, 'tests' | 'named'> & { readonly seed: number };

const found: readonly Found[] = [
  {
    place: `${disruption}/retire/retirement.ts`,
    from: "needy.every(({ uid }) => facts.rooms.get(uid) === 'ready')",
    to: 'needy.every(({ uid }) => facts.rooms.has(uid))',
    means: 'a node ends while the room of its pods still boots',
    seed: 3,
  },
  {
    place: `${reaper}/retire/commands.ts`,
    from: 'else await writeCommandEnd(deps.kube, record, deps.clock.nowMs());',
    to: '',
    means: 'a command is never over',
    seed: 3,
  },
  {
    place: `${disruption}/rules/costs.ts`,
    from: "Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => priceMicrosPerHour;",
    to: "Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => nodePriceOf(claim)?.priceMicrosPerHour ?? priceMicrosPerHour;",
    means: 'a node counts at the price of its launch day',
    seed: 4,
  },
  {
    place: `${disruption}/consolidation/replacement.ts`,
    from: 'const spotTypesMin = 15;',
    to: 'const spotTypesMin = 1;',
    means: 'a Spot node is replaced by the only cheaper type',
    seed: 3,
  },
  {
    place: `${disruption}/consolidation/replacement.ts`,
    from: 'isOneForOne ? cheapestTypes(pinned, bin) : pinned',
    to: 'pinned',
    means: 'a Spot node is replaced by any cheaper type, and its pods are moved on soon',
    seed: 3,
  },
  {
    place: `${disruption}/consolidation/restraint.ts`,
    from: 'if (bought !== undefined) return boughtLately(bought, restraint);',
    to: '',
    means: 'a command gives up the node that the last one has bought',
    seed: 3,
  },
  {
    place: `${reaper}/retire/leftover-taints.ts`,
    from: 'await abandonRetirement(deps.kube, node, undefined);',
    to: '',
    means: 'a node keeps a taint that nothing stands behind',
    seed: 3,
  },
  {
    place: `${reaper}/consolidate/consolidations.ts`,
    from: "if (next.kind === 'nothing')",
    to: "if (next.kind === 'command')",
    means: 'the search for commands never rests',
    seed: 3,
  },
];

/** Mistakes in what keeps a cluster cheap, which a whole story must find. */
export const keepingMutants: readonly Mutant[] = found.map(({ seed, ...mutant }) => ({
  ...mutant,
  tests: 'tests/stories/src/simulation/keeping',
  named: `with seed ${String(seed)}$`,
}));
