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
    seed: 0,
  },
  {
    place: `${disruption}/retire/command-step.ts`,
    from: "const isReady = members.every(({ kind, ...rest }) => kind === 'gone' || canEnd(rest));",
    to: "const isReady = members.some(({ kind, ...rest }) => kind === 'gone' || canEnd(rest));",
    means: 'all nodes of a command end once one of them may',
    seed: 0,
  },
  {
    place: `${reaper}/retire/commands.ts`,
    from: 'else await writeCommandEnd(deps.kube, record, deps.clock.nowMs());',
    to: '',
    means: 'a command is never over',
    seed: 0,
  },
  {
    place: `${disruption}/rules/costs.ts`,
    from: "Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => priceMicrosPerHour;",
    to: "Pick<NodeView, 'claim' | 'priceMicrosPerHour'>): number => nodePriceOf(claim)?.priceMicrosPerHour ?? priceMicrosPerHour;",
    means: 'a node counts at the price of its launch day',
    seed: 0,
  },
  {
    place: `${disruption}/consolidation/replacement.ts`,
    from: '.filter(({ priceMicrosPerHour }) => priceMicrosPerHour >= below)',
    to: '.filter(({ priceMicrosPerHour }) => priceMicrosPerHour >= 4 * below)',
    means: 'a replacement is dearer than the nodes that go',
    seed: 0,
  },
  {
    place: `${disruption}/consolidation/replacement.ts`,
    from: 'const spotTypesMin = 15;',
    to: 'const spotTypesMin = 1;',
    means: 'a Spot node is replaced by the only cheaper type',
    seed: 0,
  },
  {
    place: `${disruption}/consolidation/replacement.ts`,
    from: 'isOneForOne ? cheapestTypes(pinned, bin) : pinned',
    to: 'pinned',
    means: 'a Spot node is replaced by any cheaper type, and its pods are moved on soon',
    seed: 0,
  },
  {
    place: `${disruption}/consolidation/restraint.ts`,
    from: 'if (bought !== undefined) return boughtLately(bought, restraint);',
    to: '',
    means: 'a command gives up the node that the last one has bought',
    seed: 0,
  },
  {
    place: `${reaper}/config.ts`,
    from: 'consolidationWaitMs: 600_000,',
    to: 'consolidationWaitMs: 6_000_000,',
    means: 'a command waits for hours for a node that never comes',
    seed: 0,
  },
  {
    place: `${reaper}/retire/leftover-taints.ts`,
    from: 'await abandonRetirement(deps.kube, node, undefined);',
    to: '',
    means: 'a node keeps a taint that nothing stands behind',
    seed: 0,
  },
  {
    place: `${reaper}/consolidate/consolidations.ts`,
    from: "if (next.kind === 'nothing')",
    to: "if (next.kind === 'command')",
    means: 'the search for commands never rests',
    seed: 0,
  },
  {
    place: `${disruption}/rules/account.ts`,
    from: "const disrupted = going + (reason === 'Unhealthy' ? 0 : unready);",
    to: "const disrupted = reason === 'Unhealthy' ? 0 : unready;",
    means: 'nodes that are going do not count in the budget of their pool',
    seed: 0,
  },
  {
    place: `${reaper}/retire/pending-retirements.ts`,
    from: 'return withPending(views, this.#held);',
    to: 'return views;',
    means: 'what has begun counts in budgets only once a watch shows it',
    seed: 0,
  },
  {
    place: 'libs/core/cluster/src/catalog-view.ts',
    from: '(largest, type) => maxResources(largest, type.capacity),',
    to: '(largest) => largest,',
    means: 'nodes that boot do not count in the limits of their pool',
    seed: 0,
  },
  {
    place: `${disruption}/rules/eligibility.ts`,
    from: 'if (budget === undefined || allowsEviction(budget, pod)) return [];',
    to: 'if (budget === undefined || pod.uid !== "") return [];',
    means: 'a node is given up whose pods their budgets hold',
    seed: 0,
  },
  {
    place: `${disruption}/rules/eligibility.ts`,
    from: 'if (isActive(pod) && isDisruptionProtected(pod, nowMs))',
    to: 'if (isActive(pod) && isDisruptionProtected(pod, nowMs) && pod.uid === "")',
    means: 'a node is given up under a pod that is not to be disrupted',
    seed: 0,
  },
  {
    place: `${reaper}/retire/pauses.ts`,
    from: 'const tookMs = isCostly ?',
    to: 'const tookMs = isCostly && sinceMs < 0 ?',
    means: 'a node is a candidate again at once after a purchase in vain',
    seed: 0,
  },
  {
    place: `${reaper}/retire/unused-replacements.ts`,
    from: 'pods.some(isReschedulable) || promised',
    to: 'promised',
    means: 'a bought node that runs pods is ended with its command',
    seed: 0,
  },
];

/** Mistakes in what keeps a cluster cheap, which a whole story must find. */
export const keepingMutants: readonly Mutant[] = found.map(({ seed, ...mutant }) => ({
  ...mutant,
  tests: 'tests/stories/src/simulation/keeping',
  named: `with seed ${String(seed)}$`,
}));
