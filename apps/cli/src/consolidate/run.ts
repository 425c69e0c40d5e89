import {
  type Consolidation,
  defaultSavingMin,
  type NodeView,
  priceOf,
  searchCommands,
} from '@dovetail/core-disruption';
import { isReschedulable, selectorMatches, uprooted } from '@dovetail/core-kube-model';
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
  readonly boundMs: number;
  readonly spotToSpot: boolean;
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
  const { snapshot, promised } = withWaiting(input, request);
  const views = runningNodes(input.cluster, snapshot);
  const startMs = performance.now();
  const found = search(input, { ...request, snapshot, views, promised });
  const milliseconds = performance.now() - startMs;
  request.progress('proving a lower bound of the cost');
  const bound = await boundOf(snapshot, views, request);
  request.progress('');
  const priceMicrosPerHour = views.reduce((sum, view) => sum + priceOf(view), 0);
  const unpriced = views.filter((view) => priceOf(view) === 0).length;
  if (unpriced > 0)
    request.tell(`${String(unpriced)} nodes whose type has no price in the catalog: they stay`);
  return consolidationResultOf(found, { views, priceMicrosPerHour, bound, milliseconds });
}

type Searched = ConsolidateRequest & {
  readonly snapshot: Snapshot;
  readonly views: readonly NodeView[];
  /** The UIDs of nodes that waiting pods go to. */
  readonly promised: ReadonlySet<string>;
};

function search(
  { cluster }: PlanningInput,
  { snapshot, views, promised, options, spotToSpot, budgetMs, progress }: Searched,
): Consolidation {
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
        pauses: (claim) => promised.has(nodes.get(claim.uid) ?? ''),
      },
      rules: { spotToSpot, savingMin, savingShareMin },
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

/** The cluster with the waiting pods where they fit. They keep their room from pods that move. */
function withWaiting(
  { snapshot, pods }: PlanningInput,
  { options }: ConsolidateRequest,
): Pick<Searched, 'snapshot' | 'promised'> {
  if (pods.length === 0) return { snapshot, promised: new Set() };
  const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  const { placements } = plan(snapshot, pods, options);
  const arriving = new Map(placements.map(({ nodeUid, podUids }) => [nodeUid, podUids]));
  const nodes = snapshot.nodes.map((node) => {
    const uids = arriving.get(node.uid) ?? [];
    return uids.length === 0
      ? node
      : {
          ...node,
          promisedPods: [...node.promisedPods, ...uids.flatMap((uid) => byUid.get(uid) ?? [])],
        };
  });
  return { snapshot: { ...snapshot, nodes }, promised: new Set(arriving.keys()) };
}

/** A price that no set of nodes for the running pods can beat. Nodes of no pool cost nothing. */
async function boundOf(
  snapshot: Snapshot,
  views: readonly NodeView[],
  { options, boundMs, tell }: ConsolidateRequest,
): Promise<Bound> {
  const replaced = new Set(views.flatMap((view) => (priceOf(view) > 0 ? [view.node?.uid] : [])));
  const pods = views
    .filter(({ node }) => replaced.has(node?.uid))
    .flatMap((view) => view.pods)
    .filter(isReschedulable)
    .map(uprooted);
  const planned = {
    snapshot: { ...snapshot, nodes: snapshot.nodes.filter(({ uid }) => !replaced.has(uid)) },
    pods,
    options: { ...options, ...leastPrice },
  };
  const made = plan(planned.snapshot, pods, planned.options);
  const { bound } = await tightened(made, planned, { msMax: boundMs, tell });
  return bound;
}
