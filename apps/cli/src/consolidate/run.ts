import {
  type Consolidation,
  defaultSavingMin,
  keepingRoom,
  type NodeView,
  priceOf,
  searchCommands,
} from '@dovetail/core-disruption';
import { selectorMatches, uprooted } from '@dovetail/core-kube-model';
import {
  type Bound,
  leastPrice,
  plan,
  type PlanOptions,
  type Snapshot,
} from '@dovetail/core-scheduling';

import { tightened } from '../simulate/bound.js';
import type { PlanningInput } from '../simulate/planning-input.js';
import { type ConsolidationResult, consolidationResultOf } from './result.js';
import { runningNodes } from './running.js';

/** The most plans of one search. Time ends most searches earlier. */
const triesMax = 1_000_000;

/** The limits of a search, and where it tells of itself. */
export type ConsolidateRequest = {
  readonly options: PlanOptions;
  readonly budgetMs: number;
  /** Counted steps for the lower bound. */
  readonly boundSteps: number;
  readonly spotToSpot: boolean;
  /** The move of an ordinary pod must save so many micro-dollars an hour. */
  readonly moveCostMicrosPerHour: number;
  readonly tell: (note: string) => void;
  readonly progress: (text: string) => void;
};

/**
 * Searches for commands over the nodes that run in the manifests. Pods that wait have their places
 * first, and nodes that they go to are no candidates.
 */
export async function consolidate(
  input: PlanningInput,
  request: ConsolidateRequest,
): Promise<ConsolidationResult> {
  const kept = keepingRoom(input.snapshot, input.pods, request.options);
  const { snapshot, nodeUids: promised } = kept;
  const views = runningNodes(input.cluster, snapshot);
  const startMs = performance.now();
  const found = search(input, { ...request, snapshot, views, promised });
  const milliseconds = performance.now() - startMs;
  request.progress('proving a lower bound of the cost');
  const bound = await boundOf({ snapshot, views, candidates: found.candidates }, request);
  request.progress('');
  const priceMicrosPerHour = views.reduce((sum, view) => sum + priceOf(view), 0);
  const unpriced = views.filter((view) => priceOf(view) === 0).length;
  if (unpriced > 0)
    request.tell(`${String(unpriced)} nodes whose type has no price in the catalog: they stay`);
  return consolidationResultOf(found, { views, priceMicrosPerHour, bound, milliseconds });
}

/** The nodes that run, and those that may be given up. */
type Bounded = Pick<Searched, 'snapshot' | 'views'> & Pick<Consolidation, 'candidates'>;

type Searched = ConsolidateRequest & {
  readonly snapshot: Snapshot;
  readonly views: readonly NodeView[];
  /** The UIDs of nodes that waiting pods go to. */
  readonly promised: ReadonlySet<string>;
};

function search(
  { cluster }: PlanningInput,
  { snapshot, views, promised, options, budgetMs, progress, ...request }: Searched,
): Consolidation {
  const { spotToSpot, moveCostMicrosPerHour } = request;
  const startMs = performance.now();
  const nodes = new Map(views.map(({ claim, node }) => [claim.uid, node?.uid ?? '']));
  const { microsPerHour: savingMin, share: savingShareMin } = defaultSavingMin;
  return searchCommands(
    {
      snapshot,
      views,
      eligibility: {
        budgetsOf: (pod) =>
          cluster.pdbs
            .by('namespace', pod.namespace)
            .filter((pdb) => selectorMatches(pdb.selector, pod.labels)),
        podOf: (uid) => cluster.pods.get(uid),
        nowMs: Date.now(),
        pausedUntilMs: (claim) => (promised.has(nodes.get(claim.uid) ?? '') ? Infinity : undefined),
      },
      rules: { spotToSpot, savingMin, savingShareMin, moveCostMicrosPerHour },
      options,
      position: { incarnation: 'manifests', sequence: 0 },
    },
    {
      triesMax,
      shouldStop: () => {
        const passedMs = performance.now() - startMs;
        progress(`searching for commands: ${(passedMs / 1000).toFixed(1)} s`);
        return passedMs >= budgetMs;
      },
    },
  );
}

/**
 * A price that no set of nodes for the running pods can beat. Nodes that may not be given up cost
 * what they cost, and their free room holds pods for nothing. Nodes of no pool cost nothing.
 */
async function boundOf(
  { snapshot, views, candidates: { beyondBudgets } }: Bounded,
  { options, boundSteps, tell }: ConsolidateRequest,
): Promise<Bound> {
  // A budget of a pool only delays the end of its nodes.
  const going = beyondBudgets.filter(({ priceMicrosPerHour }) => priceMicrosPerHour > 0);
  const replaced = new Set(going.map(({ view }) => view.node.uid));
  const pods = going.flatMap((candidate) => candidate.pods).map(uprooted);
  const planned = {
    snapshot: { ...snapshot, nodes: snapshot.nodes.filter(({ uid }) => !replaced.has(uid)) },
    pods,
    options: { ...options, ...leastPrice },
  };
  const made = plan(planned.snapshot, pods, planned.options);
  const { bound } = await tightened(made, planned, { stepsMax: boundSteps, tell });
  const stay = views.filter(({ node }) => !replaced.has(node?.uid ?? ''));
  const held = stay.reduce((sum, view) => sum + priceOf(view), 0);
  return { ...bound, priceMicrosPerHour: bound.priceMicrosPerHour + held };
}
