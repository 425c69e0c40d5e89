import type { KubeObject } from '@dovetail/core-ports';

/** The size of a made-up cluster. Each node has its NodeClaim. */
export type ClusterSize = { readonly nodes: number; readonly podsPerNode: number };

/** One object as the API server sends it: a value of its own, parsed from text. */
const sent = (object: object): KubeObject => JSON.parse(JSON.stringify(object)) as KubeObject;

const uidOf = (kind: number, index: number): string =>
  `${kind.toString(16).padStart(8, '0')}-5b0c-4c1e-9a51-${index.toString(16).padStart(12, '0')}`;

const created = '2026-01-02T03:04:05Z';
const pools = ['default'];
const zones = ['us-west-2a', 'us-west-2b', 'us-west-2c'];
/** Pods that one ReplicaSet makes. */
const replicas = 500;

const nodeNameOf = (index: number): string =>
  `ip-10-${(index >> 16) & 255}-${(index >> 8) & 255}-${index & 255}.us-west-2.compute.internal`;
const claimNameOf = (index: number): string => `default-${index.toString(16).padStart(12, 'a')}`;
const providerIdOf = (index: number): string =>
  `aws:///${zones[index % zones.length] ?? ''}/i-${index.toString(16).padStart(17, '0')}`;
const podUidOf = (index: number): string => uidOf(1, index);
const nodeUidOf = (index: number): string => uidOf(2, index);
const claimUidOf = (index: number): string => uidOf(3, index);

const condition = (type: string): object => ({
  type,
  status: 'True',
  reason: type,
  message: '',
  lastProbeTime: null,
  lastTransitionTime: created,
  observedGeneration: 1,
});

/** A pod of a ReplicaSet; running on a node, or waiting for one. */
export function podManifest(index: number, node: number | undefined): KubeObject {
  const app = `app-${Math.floor(index / replicas)}`;
  const set = `${app}-6d4cf56db6`;
  const owner = { kind: 'ReplicaSet', name: set, uid: uidOf(9, Math.floor(index / replicas)) };
  return sent({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${set}-${index.toString(36).padStart(5, 'x')}`,
      generateName: `${set}-`,
      namespace: 'default',
      uid: podUidOf(index),
      resourceVersion: String(1_000_000 + index),
      creationTimestamp: created,
      labels: { app, 'pod-template-hash': '6d4cf56db6' },
      ownerReferences: [
        { apiVersion: 'apps/v1', controller: true, blockOwnerDeletion: true, ...owner },
      ],
    },
    spec: { ...podSpec(app), ...(node === undefined ? {} : { nodeName: nodeNameOf(node) }) },
    status: node === undefined ? waiting : { ...running, podIP: `10.${index % 200}.1.1` },
  });
}

const podSpec = (app: string): object => ({
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  schedulerName: 'default-scheduler',
  serviceAccountName: 'default',
  priority: 0,
  containers: [
    {
      name: 'main',
      image: `registry.example.com/${app}:1.0`,
      resources: { requests: { cpu: '700m', memory: '512Mi' } },
      volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets', readOnly: true }],
    },
  ],
  volumes: [{ name: 'token', projected: { sources: [] } }],
  tolerations: ['not-ready', 'unreachable'].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
});

const waiting = {
  phase: 'Pending',
  conditions: [{ ...condition('PodScheduled'), status: 'False', reason: 'Unschedulable' }],
};
const running = {
  phase: 'Running',
  conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
  containerStatuses: [{ name: 'main', ready: true, restartCount: 0, state: { running: {} } }],
};

const labelsOf = (index: number): Readonly<Record<string, string>> => ({
  'karpenter.sh/nodepool': pools[0] ?? '',
  'karpenter.sh/capacity-type': 'spot',
  'node.kubernetes.io/instance-type': 'm6i.2xlarge',
  'topology.kubernetes.io/zone': zones[index % zones.length] ?? '',
  'topology.kubernetes.io/region': 'us-west-2',
  'topology.k8s.aws/zone-id': `usw2-az${(index % zones.length) + 1}`,
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
  'karpenter.k8s.aws/ec2nodeclass': 'default',
  'karpenter.k8s.aws/instance-category': 'm',
  'karpenter.k8s.aws/instance-cpu': '8',
  'karpenter.k8s.aws/instance-cpu-manufacturer': 'intel',
  'karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz': '3500',
  'karpenter.k8s.aws/instance-ebs-bandwidth': '10000',
  'karpenter.k8s.aws/instance-encryption-in-transit-supported': 'true',
  'karpenter.k8s.aws/instance-family': 'm6i',
  'karpenter.k8s.aws/instance-generation': '6',
  'karpenter.k8s.aws/instance-hypervisor': 'nitro',
  'karpenter.k8s.aws/instance-memory': '32768',
  'karpenter.k8s.aws/instance-network-bandwidth': '3125',
  'karpenter.k8s.aws/instance-size': '2xlarge',
});

const amounts = (cpu: string, memory: string): object => ({
  cpu,
  memory,
  pods: '58',
  'ephemeral-storage': '17Gi',
  'vpc.amazonaws.com/pod-eni': '38',
});

const nodeAnnotations = {
  'karpenter.sh/nodepool-hash': '14407783392702962982',
  'karpenter.sh/nodepool-hash-version': 'v3',
  'karpenter.k8s.aws/ec2nodeclass-hash': '8807632114463318432',
  'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v4',
  'node.alpha.kubernetes.io/ttl': '0',
};

/** A node that has joined, is initialised and Ready. */
export const nodeManifest = (index: number): KubeObject =>
  sent({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeNameOf(index),
      uid: nodeUidOf(index),
      resourceVersion: String(2_000_000 + index),
      creationTimestamp: created,
      labels: {
        ...labelsOf(index),
        'kubernetes.io/hostname': nodeNameOf(index),
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
      },
      annotations: nodeAnnotations,
      finalizers: ['karpenter.sh/termination'],
    },
    spec: { providerID: providerIdOf(index) },
    status: {
      capacity: amounts('8', '31Gi'),
      allocatable: amounts('7910m', '30Gi'),
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
        ...condition(type),
        status: type === 'Ready' ? 'True' : 'False',
        lastHeartbeatTime: created,
      })),
      addresses: [{ type: 'Hostname', address: nodeNameOf(index) }],
      nodeInfo: { architecture: 'amd64', kubeletVersion: 'v1.35.0', operatingSystem: 'linux' },
    },
  });

/** A launched, registered and initialised claim; fifty share a launch intent. */
export const claimManifest = (index: number, size: ClusterSize): KubeObject =>
  sent({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: claimNameOf(index),
      uid: claimUidOf(index),
      generation: 1,
      resourceVersion: String(3_000_000 + index),
      creationTimestamp: created,
      labels: labelsOf(index),
      annotations: claimAnnotations(index, size),
      finalizers: ['karpenter.sh/termination'],
    },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      expireAfter: '720h',
      requirements: claimRequirements,
      resources: { requests: { cpu: '7', memory: '5Gi', pods: '10' } },
    },
    status: {
      providerID: providerIdOf(index),
      nodeName: nodeNameOf(index),
      imageID: 'ami-0123456789abcdef0',
      capacity: amounts('8', '31Gi'),
      allocatable: amounts('7910m', '30Gi'),
      conditions: ['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable'].map(
        condition,
      ),
      lastPodEventTime: created,
    },
  });

function claimAnnotations(index: number, { podsPerNode }: ClusterSize): object {
  const launch = Math.floor(index / 50);
  const podUids = Array.from({ length: podsPerNode }, (_, at) =>
    podUidOf(index * podsPerNode + at),
  );
  return {
    'dovetail.sh/planned': created,
    'dovetail.sh/promise': JSON.stringify({ podUids, admission: `1.${launch}` }),
    'dovetail.sh/admission': `1.${launch}/${uidOf(7, launch)}/bin-${index % 50}`,
    'dovetail.sh/launch-intent': `${launch} ${'x'.repeat(6_000)}`,
    'karpenter.sh/nodepool-hash': '14407783392702962982',
    'karpenter.sh/nodepool-hash-version': 'v3',
  };
}

const claimRequirements = Object.entries({
  'node.kubernetes.io/instance-type': ['m5.2xlarge', 'm5a.2xlarge', 'm6a.2xlarge', 'm6i.2xlarge'],
  'topology.kubernetes.io/zone': zones,
  'karpenter.sh/capacity-type': ['spot'],
  'kubernetes.io/arch': ['amd64'],
  'kubernetes.io/os': ['linux'],
  'karpenter.sh/nodepool': ['default'],
}).map(([key, values]) => ({ key, operator: 'In', values }));
