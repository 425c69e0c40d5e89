import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type {
  LabelSelector,
  NodeSelectorTerm,
  Pod,
  PodAffinityTerm,
  RequirementSpec,
  Resources,
} from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';

import { type BenchWorld } from '../worlds/objects.js';

// Worlds as Kubernetes objects, for Karpenter's scheduler: what the generated worlds use of them.

/**
 * The KWOK provider takes this off each type; adding it here gives both sides the same allocatable.
 */
const kwokOverhead: Resources = { cpu: 100, memory: 10 * 1024 ** 2 };

const quantity = (name: string, amount: number): string =>
  name === 'cpu' ? `${amount}m` : String(amount);
const quantities = (resources: Resources): Record<string, string> =>
  Object.fromEntries(
    Object.entries(resources).map(([name, amount]) => [name, quantity(name, amount)]),
  );
const only = (key: string, value: string): object => ({ key, operator: 'In', values: [value] });

/** A type in the format of the KWOK provider's catalog. */
export function kwokType(type: InstanceType): object {
  const resources = Object.fromEntries(
    Object.entries(type.allocatable).map(([name, amount]) => [
      name,
      amount + (kwokOverhead[name] ?? 0),
    ]),
  );
  return {
    name: type.name,
    architecture: [...(type.requirements.get('kubernetes.io/arch')?.values ?? ['amd64'])][0],
    operatingSystems: ['linux'],
    resources: quantities(resources),
    offerings: type.offerings
      .filter((one) => one.available)
      .map((one) => ({
        Price: one.priceMicrosPerHour / 1e6,
        Available: true,
        Requirements: [
          only('karpenter.sh/capacity-type', one.capacityType),
          only('topology.kubernetes.io/zone', one.zone),
        ],
      })),
  };
}

const selectorOf = (selector: LabelSelector | undefined): object => ({
  matchLabels: Object.fromEntries(
    (selector?.requirements ?? []).map((one) => [one.key, one.values[0]]),
  ),
});
const termOf = (term: PodAffinityTerm): object => ({
  topologyKey: term.topologyKey,
  labelSelector: selectorOf(term.selector),
});
const expressions = (term: NodeSelectorTerm): object => ({
  matchExpressions: term.matchExpressions.map(({ key, operator, values }) => ({
    key,
    operator,
    values,
  })),
});

/** One kind of affinity, if the pod has any of it. */
const ruleOf = (
  name: string,
  required: readonly object[],
  preferred: readonly object[],
): Record<string, object> =>
  required.length + preferred.length === 0
    ? {}
    : {
        [name]: {
          ...(required.length === 0
            ? {}
            : { requiredDuringSchedulingIgnoredDuringExecution: required }),
          ...(preferred.length === 0
            ? {}
            : { preferredDuringSchedulingIgnoredDuringExecution: preferred }),
        },
      };
const weighted = (
  terms: readonly { readonly weight: number; readonly term: PodAffinityTerm }[],
): readonly object[] =>
  terms.map(({ weight, term }) => ({ weight, podAffinityTerm: termOf(term) }));

const affinityOf = (pod: Pod): object => ({
  ...ruleOf(
    'nodeAffinity',
    [],
    pod.preferredNodeAffinity.map(({ weight, term }) => ({
      weight,
      preference: expressions(term),
    })),
  ),
  ...ruleOf('podAffinity', pod.requiredPodAffinity.map(termOf), weighted(pod.preferredPodAffinity)),
  ...ruleOf(
    'podAntiAffinity',
    pod.requiredPodAntiAffinity.map(termOf),
    weighted(pod.preferredPodAntiAffinity),
  ),
});

function podManifest(pod: Pod): object {
  const { pods: _counted, ...requests } = pod.requests;
  return {
    metadata: { namespace: pod.namespace, labels: pod.labels },
    spec: {
      containers: [{ name: 'app', image: 'app', resources: { requests: quantities(requests) } }],
      nodeSelector: pod.nodeSelector,
      tolerations: pod.tolerations,
      affinity: affinityOf(pod),
      topologySpreadConstraints: pod.topologySpread.map((one) => ({
        maxSkew: one.maxSkew,
        topologyKey: one.topologyKey,
        whenUnsatisfiable: one.whenUnsatisfiable,
        labelSelector: selectorOf(one.selector),
      })),
    },
  };
}

function groupsOf(pods: readonly Pod[]): readonly object[] {
  const groups = new Map<string, { names: string[]; pod: object }>();
  for (const pod of pods) {
    const manifest = podManifest(pod);
    const text = JSON.stringify(manifest);
    const group = groups.get(text) ?? { names: [], pod: manifest };
    group.names.push(pod.name);
    groups.set(text, group);
  }
  return [...groups.values()];
}

const requirementOf = ({ key, operator, values }: RequirementSpec): object => ({
  key,
  operator,
  values,
});

const poolManifest = (pool: Pool): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: pool.identity.name, uid: pool.uid },
  spec: {
    template: {
      metadata: { labels: pool.labels },
      spec: {
        requirements: pool.requirements.map(requirementOf),
        taints: pool.taints,
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
      },
    },
    ...(pool.weight > 0 ? { weight: pool.weight } : {}),
    ...(Object.keys(pool.limits).length > 0 ? { limits: quantities(pool.limits) } : {}),
  },
});

const nodeManifest = (node: ExistingNode): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: node.name, uid: node.uid, labels: node.labels },
  spec: { providerID: `kwok://${node.name}`, taints: node.taints },
  status: { capacity: quantities(node.capacity), allocatable: quantities(node.allocatable) },
});

function runningManifest(pod: Pod, node: ExistingNode): object {
  const manifest = podManifest(pod) as { readonly metadata: object; readonly spec: object };
  return {
    metadata: { ...manifest.metadata, name: pod.name, uid: pod.uid },
    spec: { ...manifest.spec, nodeName: node.name },
    status: { phase: 'Running' },
  };
}

/** A world as one JSON value, in the form that the peer reads. */
export function worldText({ snapshot, pods }: BenchWorld): string {
  const daemonSets = snapshot.daemonSets.map(({ name, namespace, uid, template }) => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, uid },
    spec: {
      selector: { matchLabels: { name } },
      template: podManifest({ ...template, labels: { name } }),
    },
  }));
  return JSON.stringify({
    pods: groupsOf(pods),
    running: snapshot.nodes.flatMap((node) => node.pods.map((pod) => runningManifest(pod, node))),
    nodes: snapshot.nodes.map(nodeManifest),
    daemonSets,
    nodePools: snapshot.pools.map(({ pool }) => poolManifest(pool)),
  });
}
