/** An object of each kind that a simulation reads, with the fields that change plans. */
type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly [field: string]: unknown;
};

const term = { key: 'app', operator: 'In', values: ['web'] };
const selector = { matchLabels: { app: 'web' }, matchExpressions: [term] };
const zoneTerm = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['z1', 'z2'] };
const podTerm = {
  labelSelector: selector,
  topologyKey: 'kubernetes.io/hostname',
  namespaceSelector: {},
  namespaces: ['default'],
  matchLabelKeys: ['version'],
};

const container = {
  name: 'c',
  image: 'c',
  ports: [{ containerPort: 80, hostPort: 8080, protocol: 'TCP', hostIP: '10.0.0.1' }],
  resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '1Gi' } },
};

const podSpec = {
  containers: [container],
  initContainers: [{ ...container, name: 'i', restartPolicy: 'Always', ports: [] }],
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [zoneTerm] }],
      },
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [zoneTerm] } },
      ],
    },
    podAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: podTerm }],
    },
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [podTerm] },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: selector,
      minDomains: 2,
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
  priorityClassName: 'high',
  runtimeClassName: 'plain',
  schedulerName: 'default-scheduler',
  terminationGracePeriodSeconds: 30,
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
};

const template = {
  metadata: { labels: { app: 'web' }, annotations: { note: 'any' } },
  spec: { ...podSpec, volumes: [], affinity: {}, topologySpreadConstraints: [] },
};
/** The template of workloads beside the Deployment. */
const small = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c' }], tolerations: [{ key: 'k', operator: 'Exists' }] },
};
const named = (name: string, more: object = {}): object => ({ name, ...more });

const workloads: readonly Manifest[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: named('p', { labels: { app: 'web' } }),
    spec: podSpec,
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: named('d'),
    spec: { replicas: 1, selector, template },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: named('s'),
    spec: {
      replicas: 1,
      ordinals: { start: 1 },
      serviceName: 's',
      selector,
      template: small,
      volumeClaimTemplates: [
        { metadata: named('data'), spec: { storageClassName: 'fast', accessModes: [] } },
      ],
    },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: named('j'),
    spec: { parallelism: 1, completions: 1, suspend: false, template: small },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: named('c'),
    spec: { schedule: '@daily', suspend: false, jobTemplate: { spec: { template: small } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: named('ds'),
    spec: { selector, template: small },
  },
];

const storage: readonly Manifest[] = [
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: named('fast'),
    provisioner: 'ebs.csi.aws.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [
      { matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['z1', 'z2'] }] },
    ],
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: named('data', { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
    spec: { volumeName: 'v', storageClassName: 'fast', accessModes: ['ReadWriteOnce'] },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: named('v'),
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'v' },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [zoneTerm] }] } },
    },
  },
];

const policies: readonly Manifest[] = [
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: named('b'),
    spec: { maxUnavailable: 1, selector },
  },
  {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: named('high'),
    value: 1,
    globalDefault: false,
  },
  {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: named('plain'),
    handler: 'runc',
    overhead: { podFixed: { cpu: '10m' } },
    scheduling: { nodeSelector: { 'kubernetes.io/os': 'linux' } },
  },
  {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: named('l'),
    spec: { limits: [{ type: 'Container', defaultRequest: { cpu: '100m' } }] },
  },
];

const pools: readonly Manifest[] = [
  {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: named('default', { annotations: { 'dovetail.sh/max-price-per-hour': '9' } }),
    spec: {
      weight: 1,
      limits: { cpu: '1000' },
      disruption: {
        consolidationPolicy: 'WhenEmpty',
        consolidateAfter: '1m',
        budgets: [{ nodes: '10%', schedule: '@daily', duration: '1h', reasons: ['Empty'] }],
      },
      template: {
        metadata: { labels: { team: 'a' }, annotations: { note: 'any' } },
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements: [{ ...zoneTerm, minValues: 1 }],
          taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
          startupTaints: [{ key: 's', effect: 'NoExecute' }],
          expireAfter: '720h',
          terminationGracePeriod: '1h',
        },
      },
    },
  },
  {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: named('default'),
    spec: {
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { a: 'b' } }],
      securityGroupSelectorTerms: [{ id: 'sg-1' }],
      role: 'nodes',
      tags: { team: 'a' },
      kubelet: { maxPods: 20, systemReserved: { cpu: '100m' } },
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          rootVolume: true,
          ebs: { volumeSize: '100Gi', encrypted: true },
        },
      ],
      metadataOptions: { httpTokens: 'required' },
    },
  },
  { apiVersion: 'v1', kind: 'Namespace', metadata: named('default', { labels: { a: 'b' } }) },
];

/** A world about which nothing can be said. */
export const validWorld: readonly Manifest[] = [...workloads, ...storage, ...policies, ...pools];
