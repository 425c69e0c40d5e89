import type { Mutant } from './mutant.js';

const reaper = 'libs/services/reaper/src';
const disruption = 'libs/core/disruption/src';
const launcher = 'libs/services/launcher/src';

/** A mistake that a random story of the world `keeping` finds, and the seed of that story. */
type Found = Omit<Mutant, 'tests' | 'named'> & { readonly seed: number };
/** A mistake that a short story finds, and what the story is about. */
type FoundInShort = Omit<Mutant, 'tests' | 'named'> & { readonly story: string };

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
    place: `${disruption}/consolidation/replacement.ts`,
    from: 'const spotTypesMin = 15;',
    to: 'const spotTypesMin = 1;',
    means: 'a Spot node is replaced by the only cheaper type',
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
  {
    place: `${disruption}/consolidation/removal.ts`,
    from: '(consolidatableMs(view) ?? nowMs) > nowMs',
    to: '(consolidatableMs(view) ?? nowMs) < 0',
    means: 'pods are moved to a node on which one came a moment ago',
    seed: 2,
  },
];

const foundInShort: readonly FoundInShort[] = [
  {
    place: `${disruption}/consolidation/replacement.ts`,
    from: 'isSpotToSpot ? cheapestTypes(pinned, minValues) : pinned',
    to: 'pinned',
    means: 'a Spot node is replaced by any cheaper type, and its pods are moved on soon',
    story: 'and many types are cheaper',
  },
  {
    place: `${disruption}/rules/costs.ts`,
    from: "Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => priceMicrosPerHour;",
    to: "Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => nodePriceOf(claim)?.priceMicrosPerHour ?? priceMicrosPerHour;",
    means: 'a node counts at the price of its launch day',
    story: 'three nodes could be one',
  },
  {
    place: `${disruption}/consolidation/restraint.ts`,
    from: 'nowMs - moved.atMs < movePauseMs ? moved : undefined',
    to: 'nowMs + movePauseMs < 0 ? moved : undefined',
    means: 'pods that a command has just moved are moved on by the next',
    story: 'could go to another',
  },
  {
    place: `${reaper}/retire/pending-retirements.ts`,
    from: 'return withPending(views, this.#held);',
    to: 'return views;',
    means: 'two loops spend one budget',
    story: 'that share its budget',
  },
  {
    place: `${launcher}/admission/judge.ts`,
    from: 'isOfCommand(message) ? this.#whole(message, bins) : bins;',
    to: 'bins;',
    means: 'a command is admitted in part',
    story: 'to which a command moves a pod',
  },
  {
    place: `${disruption}/causes/expiry.ts`,
    from: 'alwaysAllowed: 5,',
    to: 'alwaysAllowed: Infinity,',
    means: 'all nodes of a pool are replaced at once because they are old',
    story: 'all nodes of a pool are as old',
  },
  {
    place: `${launcher}/admission/claim-object.ts`,
    from: '...(isOfCommand(plan) ? { [annotations.maxPricePerHour]: priceCapText(dearestOf(bin)) } : {}),',
    to: '',
    means: 'the claim of a command does not say what it may cost',
    story: 'its successor finds other prices',
  },
  {
    place: `${launcher}/launch/request.ts`,
    from: 'const own = priceCapOf(claim);',
    to: 'const own = undefined;',
    means: 'a launch buys at any price for a command',
    story: 'its successor finds other prices',
  },
  {
    place: `${disruption}/rules/repair-brake.ts`,
    from: 'return unhealthy <= allowed ? undefined',
    to: 'return unhealthy >= 0 ? undefined',
    means: 'nodes go for their health while many of their pool are unhealthy',
    story: 'of a pool break at once',
  },
  {
    place: `${reaper}/retire/unused-replacements.ts`,
    from: 'await deleteClaim(kube, claim);',
    to: '',
    means: 'a node that was bought in vain stays',
    story: 'while the node boots that it has bought',
  },
];

/** Mistakes in what keeps a cluster cheap, which a whole story must find. */
export const keepingMutants: readonly Mutant[] = [
  ...found.map(({ seed, ...mutant }) => ({
    ...mutant,
    tests: 'tests/stories/src/simulation/keeping',
    named: `with seed ${String(seed)}$`,
  })),
  ...foundInShort.map(({ story, ...mutant }) => ({
    ...mutant,
    tests: 'tests/stories/src/simulation/keeping',
    named: `${story}$`,
  })),
];
