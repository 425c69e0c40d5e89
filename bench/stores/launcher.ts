import { type CatalogView, Cluster, KeptNodes, snapshotWithoutNodes } from '@dovetail/core-cluster';
import { type Pod, podOf } from '@dovetail/core-kube-model';
import {
  checkBinAmong,
  defaultPlanOptions,
  type ExistingNode,
  type NewNode,
  StandingNodes,
} from '@dovetail/core-scheduling';
import { m5Types } from '@dovetail/sim-stage';

import { type ClusterSize, nodeManifest, podManifest } from './manifests.js';
import type { Measure } from './measure.js';
import { fill, valueOf } from './world.js';

const types = new Map(m5Types.map((type) => [type.name, type]));
const catalog: CatalogView = { revision: '1', typesOf: () => types };

/** Bins of a round, pods of each, and rounds. */
const [bins, podsPerBin, turns] = [100, 10, 5];

/** The mirror of the launcher, and a round of admission on it. */
export function measureLauncher(size: ClusterSize, measure: Measure): void {
  const cluster = new Cluster();
  fill(cluster, size, measure);
  const kept = new KeptNodes(cluster, catalog);
  measure.pass('first look at the nodes, in turns', 1, () => lookInSteps(kept));
  measure.grew('nodes as planning sees them', size.nodes);
  const standing = new StandingNodes();
  measure.pass('first reading of the nodes by the checker, in turns', 1, () =>
    standing.keep(kept.now(0)),
  );
  measure.grew('nodes of the checker', size.nodes);
  measure.pass('look at the nodes, nothing changed', turns, () => kept.now(0));
  measure.pass('look at the nodes, a pod changed on 100 of them', turns, (turn) => {
    for (let index = 0; index < bins; index += 1) {
      const raw = podManifest(index * size.podsPerNode, index);
      const resourceVersion = String(9_000_000 + turn);
      cluster.set('pod', { ...valueOf(podOf(raw)), resourceVersion });
    }
    return kept.now(0);
  });
  const nodes = [...kept.now(0)];
  const rounds = Array.from({ length: turns }, (_, turn) =>
    questionsFrom(size.nodes * size.podsPerNode + turn * bins * podsPerBin),
  );
  measure.pass(`check of ${bins} bins, each with those before it`, turns, (turn) =>
    judge(nodes, { standing, cluster, questions: rounds[turn] ?? [] }),
  );
}

/** The launcher pauses between two steps whenever it has worked for a turn. */
function lookInSteps(kept: KeptNodes): void {
  const look = kept.inSteps(() => 0);
  while (look.next().done !== true);
}

type Question = { readonly bin: NewNode; readonly pods: readonly Pod[] };

/** Bins of new pods; `first` is the number of the first pod. */
const questionsFrom = (first: number): readonly Question[] =>
  Array.from({ length: bins }, (_, index) => {
    const start = first + index * podsPerBin;
    const pods = Array.from({ length: podsPerBin }, (__, at) =>
      valueOf(podOf(podManifest(start + at, undefined))),
    );
    const podUids = pods.map(({ uid }) => uid);
    return { bin: binOf(`bin-${start}`, podUids), pods };
  });

type Judging = {
  readonly standing: StandingNodes;
  readonly cluster: Cluster;
  readonly questions: readonly Question[];
};

/** Checks bins one after the other. Each that is checked becomes a node in flight. */
function judge(nodes: ExistingNode[], { standing, cluster, questions }: Judging): void {
  const around = snapshotWithoutNodes(cluster, catalog);
  const [like] = nodes;
  if (like === undefined) throw new Error('there is no node');
  for (const { bin, pods } of questions) {
    standing.keep(nodes);
    const beside = { newNodes: [], placements: [] };
    checkBinAmong(standing, around, { bin, pods, beside }, defaultPlanOptions);
    const inFlight = { uid: bin.id, name: bin.id, state: 'in-flight', pods: [] } as const;
    nodes.push({ ...like, ...inFlight, promisedPods: pods });
  }
}

const binOf = (id: string, podUids: readonly string[]): NewNode => ({
  id,
  pool: { kind: 'NodePool', name: 'default' },
  options: m5Types.flatMap(({ name, offerings }) =>
    offerings.map(({ zone, capacityType, priceMicrosPerHour }) => ({
      instanceType: name,
      zone,
      capacityType,
      priceMicrosPerHour,
    })),
  ),
  requirements: [],
  labels: nodeManifest(0).metadata.labels ?? {},
  taints: [],
  requests: {},
  podUids,
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
});
