import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import { claimManifest, type ClusterSize, nodeManifest, podManifest } from '../stores/manifests.js';
import { poolManifest } from '../stores/world.js';

const namespaceUid = '5b0c4c1e-0000-4000-8000-000000000001';

/** The tags of the cluster's instances. */
export const tagsOf = (clusterName: string): Readonly<Record<string, string>> => ({
  'eks:eks-cluster-name': clusterName,
  'dovetail.sh/cluster-uid': namespaceUid,
});

/** A budget of one application, which allows one pod to go. */
const budgetManifest = (index: number): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: {
    name: `app-${String(index)}-pdb`,
    namespace: 'default',
    uid: `budget-${String(index)}`,
    resourceVersion: '1',
    generation: 1,
  },
  spec: { maxUnavailable: 1, selector: { matchLabels: { app: `app-${String(index)}` } } },
  status: {
    disruptionsAllowed: 1,
    observedGeneration: 1,
    expectedPods: 1,
    desiredHealthy: 0,
    currentHealthy: 1,
  },
});

/** Whose pods are all of one node, and which consolidation looks at. */
const pool = (): KubeObject => {
  const held = poolManifest();
  const disruption = {
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '30s',
    budgets: [{ nodes: '10%' }],
  };
  return { ...held, spec: { ...(held['spec'] as object), disruption } };
};

/** A claim that never expires: time passes, and the made-up cluster is of a day in the past. */
const ageless = (claim: KubeObject): KubeObject => ({
  ...claim,
  spec: { ...(claim['spec'] as object), expireAfter: 'Never' },
});

/** Everything that the reaper watches, by the plural of its kind. */
export function objectsOf(size: ClusterSize, budgets: number): Map<string, KubeObject[]> {
  const many = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_none, index) => make(index));
  return new Map([
    [
      kubeResources.pods.plural,
      many(size.nodes * size.podsPerNode, (index) =>
        podManifest(index, Math.floor(index / size.podsPerNode)),
      ),
    ],
    [kubeResources.nodes.plural, many(size.nodes, nodeManifest)],
    [
      kubeResources.nodeClaims.plural,
      many(size.nodes, (index) => ageless(claimManifest(index, size))),
    ],
    [kubeResources.podDisruptionBudgets.plural, many(budgets, budgetManifest)],
    [kubeResources.nodePools.plural, [pool()]],
    [
      kubeResources.namespaces.plural,
      [
        {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: 'kube-system', uid: namespaceUid },
        },
      ],
    ],
  ]);
}
