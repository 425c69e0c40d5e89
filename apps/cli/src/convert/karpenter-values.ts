/**
 * The rule of one value of Karpenter's chart. A value that is Karpenter's own default is left
 * out, because Dovetail's default then holds.
 */
export type ValueRule = {
  /** Karpenter's default. Absent: empty. */
  readonly usual?: unknown;
  /** The values of Dovetail's chart that get it, as it is. */
  readonly to?: readonly string[];
  /** Why it is not taken, or what else to know. */
  readonly note?: string;
  /** A value that is not taken although others are, and why. */
  readonly except?: { readonly value: unknown; readonly note: string };
};

const to = (...targets: readonly string[]): ValueRule => ({ to: targets });
const drop = (note: string, usual?: unknown): ValueRule => ({ note, usual });
const services = ['podWatcher', 'solver', 'launcher', 'reaper'] as const;
/** The same value in the block of each of these services. */
const each = (names: readonly string[], field: string): readonly string[] =>
  names.map((name) => `services.${name}.${field}`);

const withoutEffect = 'Dovetail does not have this feature, so nothing changes by it';

/** The rules of a block whose names are the same under another one. */
const under = (block: string, rules: Readonly<Record<string, ValueRule>>) =>
  Object.fromEntries(Object.entries(rules).map(([name, rule]) => [`${block}.${name}`, rule]));

const pod: Readonly<Record<string, ValueRule>> = {
  revisionHistoryLimit: { usual: 10, to: ['common.revisionHistoryLimit'] },
  strategy: { usual: { rollingUpdate: { maxUnavailable: 1 } }, to: ['common.strategy'] },
  podLabels: to('common.podLabels'),
  podAnnotations: to('common.podAnnotations'),
  'podDisruptionBudget.name': drop('each service has a budget of its own name', 'karpenter'),
  'podDisruptionBudget.maxUnavailable': {
    usual: 1,
    to: ['common.podDisruptionBudget.maxUnavailable'],
  },
  'podDisruptionBudget.minAvailable': drop(
    'it excludes maxUnavailable: common.podDisruptionBudget: { maxUnavailable: null, minAvailable: … }',
  ),
  podSecurityContext: {
    usual: { fsGroup: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
    to: ['common.podSecurityContext'],
  },
  priorityClassName: { usual: 'system-cluster-critical', to: ['common.priorityClassName'] },
  terminationGracePeriodSeconds: to('common.terminationGracePeriodSeconds'),
  hostNetwork: { usual: false, to: ['common.hostNetwork'] },
  schedulerName: { usual: 'default-scheduler', to: ['common.schedulerName'] },
  dnsPolicy: {
    usual: 'ClusterFirst',
    to: ['common.dnsPolicy'],
    except: {
      value: 'Default',
      note: "left out: the DNS of a node does not know the chart's NATS servers; with nats.url outside the cluster in their place, set common.dnsPolicy",
    },
  },
  dnsConfig: to('common.dnsConfig'),
  initContainers: to('common.initContainers'),
  nodeSelector: { usual: { 'kubernetes.io/os': 'linux' }, to: ['common.nodeSelector'] },
  'affinity.nodeAffinity': {
    usual: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] },
        ],
      },
    },
    to: ['common.affinity.nodeAffinity'],
  },
  'affinity.podAffinity': to('common.affinity.podAffinity'),
  'affinity.podAntiAffinity': {
    usual: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }],
    },
    to: ['common.affinity.podAntiAffinity'],
    note: 'it now counts for each of four services; give each term a labelSelector',
  },
  topologySpreadConstraints: {
    usual: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
      },
    ],
    to: ['common.topologySpreadConstraints'],
  },
  tolerations: {
    usual: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
    to: ['common.tolerations'],
  },
  extraVolumes: to('common.extraVolumes'),
};

const controller = under('controller', {
  containerName: drop('each container has the name of its service', 'controller'),
  image: drop('the image is of another program: give image.repository and image.tag'),
  envFrom: to('common.envFrom'),
  'securityContext.appArmorProfile': to('common.securityContext.appArmorProfile'),
  'securityContext.seLinuxOptions': to('common.securityContext.seLinuxOptions'),
  'securityContext.seccompProfile': to('common.securityContext.seccompProfile'),
  resources: drop(
    'each of four services has resources of its own size: services.<service>.resources, with heapMiB',
  ),
  extraVolumeMounts: to('common.extraVolumeMounts'),
  sidecarContainer: to('common.sidecars'),
  sidecarVolumeMounts: drop('write them into common.sidecars'),
  'metrics.port': { usual: 8_080, to: ['common.port'] },
  'healthProbe.port': drop('probes and metrics share common.port', 8_081),
});

const settings = under('settings', {
  batchMaxDuration: { usual: '10s', to: ['settings.batchMaxDuration'] },
  batchIdleDuration: { usual: '1s', to: ['settings.batchIdleDuration'] },
  preferencePolicy: { usual: 'Respect', to: ['preferencePolicy'] },
  minValuesPolicy: { usual: 'Strict', to: ['minValuesPolicy'] },
  clusterCABundle: to('settings.clusterCABundle'),
  clusterName: to('cluster.name'),
  clusterEndpoint: to('settings.clusterEndpoint'),
  isolatedVPC: { usual: false, to: ['settings.isolatedVPC'] },
  eksControlPlane: drop('EKS is asked unless settings.clusterEndpoint is given', false),
  vmMemoryOverheadPercent: { usual: 0.075, to: ['settings.vmMemoryOverheadPercent'] },
  interruptionQueue: to('interruptionQueue'),
  enableZonalShift: drop(withoutEffect, false),
  reservedENIs: { usual: '0', to: ['settings.reservedENIs'] },
  ignoreDRARequests: drop(withoutEffect, true),
  disableClusterStateObservability: {
    usual: false,
    to: ['settings.disableClusterStateObservability'],
  },
  enableDRA: drop(withoutEffect, false),
  legacyNodeRepair: { usual: false, to: each(['reaper'], 'env.LEGACY_NODE_REPAIR') },
  disableDryRun: drop('Dovetail makes no dry run of a class', false),
  amiRefreshInterval: drop('the launcher has intervals of its own', '1m'),
  subnetRefreshInterval: drop('the launcher has intervals of its own', '1m'),
  securityGroupRefreshInterval: drop('the launcher has intervals of its own', '1m'),
  'awsFeatureGates.nodeClassCEL': drop(withoutEffect, false),
  'awsFeatureGates.draNVIDIAGPU': drop(withoutEffect, false),
  'awsFeatureGates.draEFA': drop(withoutEffect, false),
  'awsFeatureGates.rebootForRepair': drop(withoutEffect, false),
});

const gates = under('settings.featureGates', {
  nodeRepair: { usual: false, to: ['settings.featureGates.nodeRepair'] },
  spotToSpotConsolidation: { usual: false, to: ['settings.featureGates.spotToSpotConsolidation'] },
  reservedCapacity: drop(withoutEffect, true),
  nodeOverlay: drop(withoutEffect, false),
  staticCapacity: drop(withoutEffect, false),
  capacityBuffer: drop(withoutEffect, false),
  terminateFirstDrift: drop(withoutEffect, false),
  terminateFirstRepair: drop(withoutEffect, false),
  podDeletionCostManagement: drop(withoutEffect, false),
});

/** Values of a role to work as, which charts before 1.0 have in one of two blocks. */
const assumedRole: Readonly<Record<string, ValueRule>> = {
  assumeRoleARN: {
    to: each(['launcher', 'reaper'], 'env.ASSUME_ROLE_ARN'),
    note: "this role needs the policies of deploy/iam for launcher and reaper, and must trust these services' roles",
  },
  assumeRoleDuration: {
    usual: '15m',
    to: each(['launcher', 'reaper'], 'env.ASSUME_ROLE_DURATION'),
  },
};

const noWebhook = 'there is no webhook';
const asJson = 'logs are JSON';
const inNewerCharts = 'later charts of Karpenter have no such value either';

/** Logs of charts before 1.0. */
const olderLogs: Readonly<Record<string, ValueRule>> = {
  logEncoding: drop(asJson, 'json'),
  ...under('logConfig', {
    enabled: drop('logs are set by logLevel, without a file of their own', true),
    outputPaths: drop('logs go to standard output', ['stdout']),
    errorOutputPaths: drop('logs go to standard output', ['stderr']),
    logEncoding: drop(asJson, 'json'),
    'logLevel.global': { usual: 'debug', to: ['logLevel'] },
    'logLevel.controller': { usual: 'debug', to: ['logLevel'] },
    'logLevel.webhook': drop(noWebhook, 'error'),
  }),
  ...under('controller', {
    logLevel: to('logLevel'),
    logEncoding: drop(asJson, 'json'),
    outputPaths: drop('logs go to standard output', ['stdout']),
    errorOutputPaths: drop('logs go to standard output', ['stderr']),
  }),
  'webhook.logLevel': drop(noWebhook, 'error'),
};

/** Values of charts before 1.0. */
const older: Readonly<Record<string, ValueRule>> = {
  clusterName: to('cluster.name'),
  clusterEndpoint: to('settings.clusterEndpoint'),
  'aws.defaultInstanceProfile': to('defaultInstanceProfile'),
  ...under('settings', assumedRole),
  ...olderLogs,
  postInstallHook: drop('nothing has to be done after the install'),
  ...under('settings.aws', {
    ...assumedRole,
    enablePodENI: drop(inNewerCharts, true),
    enableENILimitedPodDensity: drop(inNewerCharts, true),
    nodeNameConvention: drop(inNewerCharts, 'ip-name'),
    clusterName: to('cluster.name'),
    clusterEndpoint: to('settings.clusterEndpoint'),
    clusterCABundle: to('settings.clusterCABundle'),
    defaultInstanceProfile: to('defaultInstanceProfile'),
    interruptionQueueName: to('interruptionQueue'),
    isolatedVPC: { usual: false, to: ['settings.isolatedVPC'] },
    vmMemoryOverheadPercent: { usual: 0.075, to: ['settings.vmMemoryOverheadPercent'] },
    reservedENIs: { usual: '0', to: ['settings.reservedENIs'] },
    tags: drop('tags of instances stand in the class'),
  }),
  // Of 0.32 to 1.0.
  'webhook.enabled': drop('conversion webhooks ended with v1, and there are none here', true),
  'webhook.port': drop(noWebhook, 8_443),
  'webhook.metrics.port': drop(noWebhook, 8_001),
  'settings.featureGates.drift': drop(
    'drift is always on, as in later charts of Karpenter: budgets of pools bound it',
    true,
  ),
};

/** The values of Karpenter's chart, by their paths: those of 1.15, and the older ones. */
export const karpenterValues: Readonly<Record<string, ValueRule>> = {
  nameOverride: to('nameOverride'),
  fullnameOverride: to('fullnameOverride'),
  additionalLabels: to('additionalLabels'),
  additionalAnnotations: to('additionalAnnotations'),
  imagePullPolicy: { usual: 'IfNotPresent', to: ['image.pullPolicy'] },
  imagePullSecrets: to('imagePullSecrets'),
  'service.annotations': to('metrics.service.annotations'),
  'serviceAccount.create': drop(
    'four services have four accounts: services.<service>.serviceAccount.create',
    true,
  ),
  'serviceAccount.name': drop(
    'four services have four accounts: services.<service>.serviceAccount.name',
  ),
  'serviceAccount.annotations': { to: each(services, 'serviceAccountAnnotations') },
  additionalClusterRoleRules: drop(
    'say which service needs them: services.<service>.additionalClusterRoleRules',
  ),
  'serviceMonitor.enabled': { usual: false, to: ['metrics.serviceMonitor.enabled'] },
  'serviceMonitor.additionalLabels': to('metrics.serviceMonitor.labels'),
  'serviceMonitor.relabelings': to('metrics.serviceMonitor.relabelings'),
  'serviceMonitor.metricRelabelings': to('metrics.serviceMonitor.metricRelabelings'),
  'serviceMonitor.endpointConfig.interval': to('metrics.serviceMonitor.interval'),
  'serviceMonitor.endpointConfig.scrapeTimeout': to('metrics.serviceMonitor.scrapeTimeout'),
  'serviceMonitor.sampleLimit': drop('the chart sets no limit of samples'),
  replicas: { usual: 2, to: each(['podWatcher', 'launcher', 'reaper'], 'replicas') },
  ...pod,
  ...controller,
  logLevel: { usual: 'info', to: ['logLevel'] },
  logOutputPaths: drop('logs go to standard output', ['stdout']),
  logErrorOutputPaths: drop('logs go to standard output', ['stderr']),
  ...settings,
  ...gates,
  ...older,
};

/** Variables of Karpenter that mean something here, and the value of a chart for each. */
export const variableValues: Readonly<Record<string, string>> = {
  ASSUME_ROLE_ARN: 'settings.assumeRoleARN',
  ASSUME_ROLE_DURATION: 'settings.assumeRoleDuration',
  LEGACY_NODE_REPAIR: 'settings.legacyNodeRepair',
};
