/** A taint that a node registers with. */
type InstanceTaint = { readonly key: string; readonly value?: string; readonly effect: string };

/** A booted machine whose kubelet is about to join, described by its user data and hardware. */
export type BootedInstance = {
  readonly nodeName: string;
  /** `aws:///<zone>/<instance id>`. */
  readonly providerId: string;
  /** Labels from user data and cloud provider; hostname, os and arch are added where missing. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly InstanceTaint[];
  /** Quantities by resource name, as the node's status has them. */
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly arch: 'amd64' | 'arm64';
  readonly kubeletVersion: string;
  readonly osImage?: string;
  readonly internalIp?: string;
};

const hostname = 'kubernetes.io/hostname';

/** The labels that every kubelet sets, and those of the instance on top. */
const labelsOf = (instance: BootedInstance): Readonly<Record<string, string>> => ({
  [hostname]: instance.nodeName,
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': instance.arch,
  'beta.kubernetes.io/os': 'linux',
  'beta.kubernetes.io/arch': instance.arch,
  ...Object.fromEntries(
    oldNames.flatMap(([name, oldName]) => {
      const value = instance.labels[name];
      return value === undefined ? [] : [[oldName, value]];
    }),
  ),
  ...instance.labels,
});

/** The cloud's node controller still writes these labels under their old names too. */
const oldNames = [
  ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
  ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
  ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'],
] as const;

const addressesOf = (instance: BootedInstance): readonly object[] => [
  ...(instance.internalIp === undefined
    ? []
    : [{ type: 'InternalIP', address: instance.internalIp }]),
  { type: 'Hostname', address: instance.nodeName },
  { type: 'InternalDNS', address: instance.nodeName },
];

const nodeInfoOf = (instance: BootedInstance): object => ({
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '6.1.0',
  osImage: instance.osImage ?? 'Amazon Linux 2023',
  containerRuntimeVersion: 'containerd://1.7.27',
  kubeletVersion: instance.kubeletVersion,
  kubeProxyVersion: instance.kubeletVersion,
  operatingSystem: 'linux',
  architecture: instance.arch,
});

/** A Node as a kubelet creates it. */
export type RegisteredNode = {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
};

/** The Node object that a kubelet registers, not ready yet. `now` is RFC 3339. */
export function nodeOf(instance: BootedInstance, now: string): RegisteredNode {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: instance.nodeName,
      labels: labelsOf(instance),
      annotations: {
        'node.alpha.kubernetes.io/ttl': '0',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
    },
    spec: {
      providerID: instance.providerId,
      ...(instance.taints.length === 0 ? {} : { taints: instance.taints }),
    },
    status: {
      capacity: instance.capacity,
      allocatable: instance.allocatable,
      addresses: addressesOf(instance),
      conditions: nodeConditions('starting', now),
      nodeInfo: nodeInfoOf(instance),
    },
  };
}

const calm = [
  ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
] as const;

const readiness = {
  starting: ['False', 'KubeletNotReady', 'container runtime network not ready'],
  ready: ['True', 'KubeletReady', 'kubelet is posting ready status'],
  lost: ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'],
} as const;

/** The conditions of a node in one of its three states. */
export function nodeConditions(state: keyof typeof readiness, now: string): readonly object[] {
  const at = { lastHeartbeatTime: now, lastTransitionTime: now };
  const [status, reason, message] = readiness[state];
  const pressures = calm.map(([type, why, words]) =>
    state === 'lost'
      ? { type, status, reason, message, ...at }
      : { type, status: 'False', reason: why, message: words, ...at },
  );
  return [...pressures, { type: 'Ready', status, reason, message, ...at }];
}
