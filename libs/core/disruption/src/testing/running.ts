import { annotations, labels, type Pool } from '@dovetail/core-api';
import { instanceTypeValue, offeringValue } from '@dovetail/core-ec2-model/testing';
import type { Pod } from '@dovetail/core-kube-model';
import { gibibytes } from '@dovetail/core-kube-model/testing';
import { defaultPlanOptions, type Snapshot } from '@dovetail/core-scheduling';
import { existingNodeValue, snapshotOf } from '@dovetail/core-scheduling/testing';

import type { SearchInput } from '../consolidation/search.js';
import type { NodeView } from '../facts/view.js';
import { claim, node, nowMs, pod, pool } from './objects.js';

/** Types of 2, 4, 8 and 16 cores, at a tenth of a dollar an hour for two cores. */
const types = [2, 4, 8, 16].map((cores) =>
  instanceTypeValue({
    name: `m.${String(cores)}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: ['a', 'b', 'c'].map((zone) => offeringValue(zone, 'on-demand', cores * 50_000)),
  }),
);

/** The pool `default`, whose under-used nodes go at once. */
export const underusedPool = (more: Partial<Pool['disruption']> = {}): Pool =>
  pool({
    disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [], ...more },
  });

/** A running node: its cores, and the millicores of each of its pods. */
export type RunningNode = {
  readonly cores: 2 | 4 | 8 | 16;
  readonly pods: readonly number[];
  /** Changes to each pod. */
  readonly over?: Partial<Pod>;
};

function viewOf(one: RunningNode, index: number, of: Pool): NodeView {
  const id = String(index + 1);
  const nodeName = `n${id}`;
  const type = types.find(({ name }) => name === `m.${String(one.cores)}`);
  const capacity = type?.capacity ?? {};
  const ownLabels = {
    [labels.instanceType]: `m.${String(one.cores)}`,
    [labels.zone]: 'abc'.charAt(index % 3),
    [labels.capacityType]: 'on-demand',
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
    'karpenter.sh/nodepool': of.identity.name,
  };
  const price = (one.cores * 0.05).toFixed(6);
  return {
    claim: claim(`c${id}`, { nodeName, annotations: { [annotations.pricePerHour]: price } }),
    node: node(nodeName, { labels: ownLabels, capacity, allocatable: type?.allocatable ?? {} }),
    pool: of,
    pods: one.pods.map((cpu, at) =>
      pod(`p${id}-${String(at)}`, {
        nodeName,
        requests: { cpu, memory: 1_000, pods: 1 },
        ...one.over,
      }),
    ),
  };
}

/** A cluster that runs these nodes, as the search for commands reads it. */
export function runningCluster(
  nodes: readonly RunningNode[],
  of: Pool = underusedPool(),
): SearchInput {
  const views = nodes.map((one, index) => viewOf(one, index, of));
  const snapshot: Snapshot = snapshotOf({
    pools: [{ pool: of, instanceTypes: types }],
    nodes: views.flatMap(({ node: joined, pods }) =>
      joined === undefined
        ? []
        : [
            existingNodeValue(joined.name, {
              uid: joined.uid,
              poolKey: `NodePool/${of.identity.name}`,
              labels: joined.labels,
              capacity: joined.capacity,
              allocatable: joined.allocatable,
              pods,
            }),
          ],
    ),
  });
  return {
    snapshot,
    views,
    eligibility: { budgetsOf: () => [], podOf: () => undefined, nowMs },
    rules: {
      spotToSpot: false,
      savingMin: 1_000,
      savingShareMin: 0.02,
      moveCostMicrosPerHour: 1_000,
    },
    options: defaultPlanOptions,
    position: { incarnation: 'one', sequence: 1 },
  };
}
