import { labels } from '@dovetail/core-api';
import type { Node, Owner, Pod } from '@dovetail/core-kube-model';
import type { MetricSamples } from '@dovetail/core-ports';

import type { Observed } from './node-samples.js';

/** The owner as Karpenter shows it: the path that the API server once had in `selfLink`. */
const ownerPath = (namespace: string, { apiVersion, kind, name }: Owner): string =>
  `/apis/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;

/** The labels of a pod's state. Karpenter names the first owner, and this the controlling one. */
export function podLabels(pod: Pod, node: Node | undefined): Readonly<Record<string, string>> {
  const held = node?.labels ?? {};
  const nodepool = held[labels.nodePool] ?? '';
  return {
    name: pod.name,
    namespace: pod.namespace,
    owner: pod.owner === undefined ? '' : ownerPath(pod.namespace, pod.owner),
    node: pod.nodeName ?? '',
    scheduled: String(pod.nodeName !== undefined),
    nodepool,
    zone: held[labels.zone] ?? '',
    arch: held[labels.arch] ?? '',
    capacity_type: held[labels.capacityType] ?? '',
    instance_type: held[labels.instanceType] ?? '',
    phase: pod.phase,
    ready: String(pod.ready),
    managed: String(nodepool !== ''),
  };
}

/** Whether a pod asks for devices by dynamic resource allocation, as a label. */
export const dynamicResources = ({ resourceClaims }: Pick<Pod, 'resourceClaims'>): string =>
  String(resourceClaims.length > 0);

function* states({ pods, nodes }: Observed): MetricSamples {
  for (const pod of pods.values())
    yield { value: 1, labels: podLabels(pod, nodes.one('name', pod.nodeName)) };
}

function* unbound({ pods }: Observed, nowMs: number): MetricSamples {
  for (const pod of pods.values())
    if (pod.phase === 'Pending' && pod.nodeName === undefined)
      yield {
        value: (nowMs - pod.createdMs) / 1_000,
        labels: {
          name: pod.name,
          namespace: pod.namespace,
          dynamic_resources: dynamicResources(pod),
        },
      };
}

function* unstarted(
  { pods }: Observed,
  waiting: ReadonlySet<string>,
  nowMs: number,
): MetricSamples {
  for (const uid of waiting) {
    const pod = pods.get(uid);
    if (pod !== undefined)
      yield {
        value: (nowMs - pod.createdMs) / 1_000,
        labels: { name: pod.name, namespace: pod.namespace },
      };
  }
}

/** The samples of each metric of pods, by its name. `waiting`: UIDs of pods that never started. */
export const podSamples = (
  cluster: Observed,
  waiting: ReadonlySet<string>,
  nowMs: () => number,
): Readonly<Record<string, () => MetricSamples>> => ({
  karpenter_pods_state: () => states(cluster),
  karpenter_pods_unbound_time_seconds: () => unbound(cluster, nowMs()),
  karpenter_pods_unstarted_time_seconds: () => unstarted(cluster, waiting, nowMs()),
});
