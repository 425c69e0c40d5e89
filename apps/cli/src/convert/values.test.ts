import { describe, expect, test } from 'vitest';

import { convertValues } from './values.js';

type Values = Record<string, unknown>;

/** A value at a path, in blocks. */
const nested = (path: string, value: unknown): Values =>
  path
    .split('.')
    .reverse()
    .reduce<unknown>((inner, name) => ({ [name]: inner }), value) as Values;
const known = { settings: { clusterName: 'my-cluster' } };
const alone = {
  cluster: { name: 'my-cluster', region: 'us-west-2' },
  nats: { server: { enabled: true } },
};
const converted = (input: Values) => convertValues(input, 'us-west-2');

/** Values of Karpenter's chart, other than their defaults, and what becomes of them. */
const taken: readonly (readonly [string, unknown, Values])[] = [
  ['nameOverride', 'own', { nameOverride: 'own' }],
  // An empty list is not the default list.
  ['tolerations', [], { common: { tolerations: [] } }],
  ['fullnameOverride', 'own', { fullnameOverride: 'own' }],
  ['additionalLabels', { team: 'a' }, { additionalLabels: { team: 'a' } }],
  ['additionalAnnotations', { team: 'a' }, { additionalAnnotations: { team: 'a' } }],
  ['imagePullPolicy', 'Always', { image: { pullPolicy: 'Always' } }],
  ['imagePullSecrets', [{ name: 'own' }], { imagePullSecrets: [{ name: 'own' }] }],
  ['service.annotations', { a: 'b' }, { metrics: { service: { annotations: { a: 'b' } } } }],
  ['serviceMonitor.enabled', true, { metrics: { serviceMonitor: { enabled: true } } }],
  [
    'serviceMonitor.additionalLabels',
    { a: 'b' },
    { metrics: { serviceMonitor: { labels: { a: 'b' } } } },
  ],
  [
    'serviceMonitor.endpointConfig.interval',
    '20s',
    { metrics: { serviceMonitor: { interval: '20s' } } },
  ],
  [
    'replicas',
    3,
    {
      services: { podWatcher: { replicas: 3 }, launcher: { replicas: 3 }, reaper: { replicas: 3 } },
    },
  ],
  ['revisionHistoryLimit', 3, { common: { revisionHistoryLimit: 3 } }],
  ['strategy', { type: 'Recreate' }, { common: { strategy: { type: 'Recreate' } } }],
  ['podLabels', { a: 'b' }, { common: { podLabels: { a: 'b' } } }],
  ['podAnnotations', { a: 'b' }, { common: { podAnnotations: { a: 'b' } } }],
  [
    'podDisruptionBudget.maxUnavailable',
    '50%',
    { common: { podDisruptionBudget: { maxUnavailable: '50%' } } },
  ],
  ['podSecurityContext', { fsGroup: 1 }, { common: { podSecurityContext: { fsGroup: 1 } } }],
  ['priorityClassName', 'own', { common: { priorityClassName: 'own' } }],
  ['terminationGracePeriodSeconds', 90, { common: { terminationGracePeriodSeconds: 90 } }],
  ['schedulerName', 'own', { common: { schedulerName: 'own' } }],
  ['dnsPolicy', 'None', { common: { dnsPolicy: 'None' } }],
  ['dnsConfig', { searches: ['a'] }, { common: { dnsConfig: { searches: ['a'] } } }],
  ['initContainers', [{ name: 'a' }], { common: { initContainers: [{ name: 'a' }] } }],
  ['nodeSelector', { a: 'b' }, { common: { nodeSelector: { a: 'b' } } }],
  ['affinity.nodeAffinity', { a: [] }, { common: { affinity: { nodeAffinity: { a: [] } } } }],
  [
    'topologySpreadConstraints',
    [{ maxSkew: 2 }],
    { common: { topologySpreadConstraints: [{ maxSkew: 2 }] } },
  ],
  [
    'settings.legacyNodeRepair',
    true,
    { services: { reaper: { env: { LEGACY_NODE_REPAIR: 'true' } } } },
  ],
  [
    'controller.env',
    [{ name: 'LEGACY_NODE_REPAIR', value: 'true' }],
    { services: { reaper: { env: { LEGACY_NODE_REPAIR: 'true' } } } },
  ],
  ['logConfig.logLevel.controller', 'warn', { logLevel: 'warn' }],
  ['tolerations', [{ key: 'own' }], { common: { tolerations: [{ key: 'own' }] } }],
  ['extraVolumes', [{ name: 'ca' }], { common: { extraVolumes: [{ name: 'ca' }] } }],
  ['controller.envFrom', [{ secretRef: {} }], { common: { envFrom: [{ secretRef: {} }] } }],
  [
    'controller.env',
    [{ name: 'HTTPS_PROXY', value: 'http://proxy' }],
    { common: { env: { HTTPS_PROXY: 'http://proxy' } } },
  ],
  [
    'controller.env',
    [{ name: 'AWS_SECRET_ACCESS_KEY', valueFrom: { secretKeyRef: { name: 'own' } } }],
    {
      common: { env: { AWS_SECRET_ACCESS_KEY: { valueFrom: { secretKeyRef: { name: 'own' } } } } },
    },
  ],
  [
    'controller.securityContext.seccompProfile',
    { type: 'Unconfined' },
    { common: { securityContext: { seccompProfile: { type: 'Unconfined' } } } },
  ],
  [
    'controller.extraVolumeMounts',
    [{ name: 'ca' }],
    { common: { extraVolumeMounts: [{ name: 'ca' }] } },
  ],
  ['controller.sidecarContainer', [{ name: 'a' }], { common: { sidecars: [{ name: 'a' }] } }],
  ['controller.metrics.port', 9_090, { common: { port: 9_090 } }],
  ['logLevel', 'debug', { logLevel: 'debug' }],
  ['settings.batchMaxDuration', '20s', { settings: { batchMaxDuration: '20s' } }],
  ['settings.batchIdleDuration', '2s', { settings: { batchIdleDuration: '2s' } }],
  ['settings.preferencePolicy', 'Ignore', { preferencePolicy: 'Ignore' }],
  ['settings.minValuesPolicy', 'BestEffort', { minValuesPolicy: 'BestEffort' }],
  ['settings.clusterCABundle', 'LS0t', { settings: { clusterCABundle: 'LS0t' } }],
  ['settings.clusterEndpoint', 'https://a', { settings: { clusterEndpoint: 'https://a' } }],
  ['settings.isolatedVPC', true, { settings: { isolatedVPC: true } }],
  ['settings.vmMemoryOverheadPercent', 0.05, { settings: { vmMemoryOverheadPercent: 0.05 } }],
  ['settings.interruptionQueue', 'own', { interruptionQueue: 'own' }],
  ['settings.reservedENIs', '1', { settings: { reservedENIs: 1 } }],
  [
    'settings.disableClusterStateObservability',
    true,
    { settings: { disableClusterStateObservability: true } },
  ],
  ['settings.featureGates.nodeRepair', true, { settings: { featureGates: { nodeRepair: true } } }],
  [
    'settings.featureGates.spotToSpotConsolidation',
    true,
    { settings: { featureGates: { spotToSpotConsolidation: true } } },
  ],
  ['clusterEndpoint', 'https://a', { settings: { clusterEndpoint: 'https://a' } }],
  ['aws.defaultInstanceProfile', 'nodes', { defaultInstanceProfile: 'nodes' }],
  ['settings.aws.interruptionQueueName', 'own', { interruptionQueue: 'own' }],
];

/** Values that have no meaning here, with words of their notes. */
const told: readonly (readonly [string, unknown, string])[] = [
  ['serviceAccount.create', false, 'four accounts'],
  ['serviceAccount.name', 'own', 'four accounts'],
  ['additionalClusterRoleRules', [{ verbs: ['get'] }], 'which service'],
  ['serviceMonitor.sampleLimit', 5, 'no limit of samples'],
  ['podDisruptionBudget.name', 'own', 'a budget of its own name'],
  ['podDisruptionBudget.minAvailable', 1, 'excludes maxUnavailable'],
  ['controller.containerName', 'own', 'name of its service'],
  ['controller.image.tag', '1.14.1', 'another program'],
  ['controller.resources', { limits: { cpu: 1 } }, 'services.<service>.resources'],
  ['controller.sidecarVolumeMounts', [{ name: 'a' }], 'common.sidecars'],
  ['controller.healthProbe.port', 9_091, 'common.port'],
  ['controller.env', [{ name: 'FEATURE_GATES', value: 'NodeRepair=true' }], 'values of the chart'],
  ['logOutputPaths', ['/log'], 'standard output'],
  ['logErrorOutputPaths', ['/log'], 'standard output'],
  ['settings.eksControlPlane', true, 'EKS is asked'],
  ['settings.enableZonalShift', true, 'does not have this feature'],
  ['settings.ignoreDRARequests', false, 'does not have this feature'],
  ['settings.disableDryRun', true, 'no dry run'],
  ['settings.amiRefreshInterval', '5m', 'intervals of its own'],
  ['settings.subnetRefreshInterval', '5m', 'intervals of its own'],
  ['settings.featureGates.nodeOverlay', true, 'does not have this feature'],
  ['settings.featureGates.reservedCapacity', false, 'does not have this feature'],
  ['settings.featureGates.staticCapacity', true, 'does not have this feature'],
  ['settings.featureGates.capacityBuffer', true, 'does not have this feature'],
  ['settings.awsFeatureGates.nodeClassCEL', true, 'does not have this feature'],
  ['settings.interuptionQueue', 'own', 'no such value; did you mean settings.interruptionQueue?'],
  ['dnsPolicy', 'Default', "does not know the chart's NATS servers"],
  ['settings.enableDRA', true, 'does not have this feature'],
  ['settings.featureGates.terminateFirstDrift', true, 'does not have this feature'],
  ['settings.awsFeatureGates.rebootForRepair', true, 'does not have this feature'],
  ['settings.securityGroupRefreshInterval', '5m', 'intervals of its own'],
  ['logConfig.logEncoding', 'console', 'logs are JSON'],
  ['postInstallHook', { image: { tag: '1.30' } }, 'nothing has to be done'],
  ['settings.aws.enablePodENI', false, 'later charts of Karpenter'],
  ['webhook.enabled', false, 'conversion webhooks ended with v1'],
  ['settings.featureGates.drift', false, 'drift is always on'],
  ['priorityClass', 'own', 'no such value'],
];

const merged = (one: Values, other: Values): Values => ({
  ...one,
  ...Object.fromEntries(
    Object.entries(other).map(([key, value]) => [
      key,
      typeof value === 'object' && typeof one[key] === 'object' && !Array.isArray(value)
        ? merged(one[key] as Values, value as Values)
        : value,
    ]),
  ),
});

describe("values of Karpenter's chart", () => {
  test.each(taken)('%s of %j is taken', (path, value, values) =>
    expect(converted(merged(known, nested(path, value)))).toEqual({
      values: merged(alone, values),
      notes: [],
    }),
  );

  test.each(told)('%s of %j has no meaning here, and a note says so', (path, value, words) => {
    const { values, notes } = converted(merged(known, nested(path, value)));
    expect(values).toEqual(alone);
    expect(notes).toEqual([
      {
        path: expect.stringContaining(path.split('.').slice(0, 2).join('.')),
        text: expect.stringContaining(words),
      },
    ]);
  });

  test.each([
    ['settings.batchMaxDuration', '10s'],
    ['settings.reservedENIs', 0],
    ['settings.reservedENIs', '0'],
    ['settings.clusterEndpoint', ''],
    ['settings.legacyNodeRepair', false],
    ['settings.enableDRA', false],
    ['settings.featureGates.terminateFirstRepair', false],
    ['settings.featureGates.podDeletionCostManagement', false],
    ['settings.awsFeatureGates.draEFA', null],
    ['settings.awsFeatureGates.rebootForRepair', false],
    ['settings.securityGroupRefreshInterval', '1m'],
    ['settings.assumeRoleDuration', '15m'],
    ['logConfig.logLevel.global', 'debug'],
    ['logConfig.outputPaths', ['stdout']],
    ['controller.logEncoding', ''],
    ['tolerations', [{ operator: 'Exists', key: 'CriticalAddonsOnly' }]],
    ['initContainers', {}],
    ['terminationGracePeriodSeconds', null],
  ])("%s of %j is Karpenter's default, so that ours holds", (path, value) =>
    expect(converted(merged(known, nested(path, value)))).toEqual({ values: alone, notes: [] }),
  );

  test('the role is left out, with the reason, and other annotations are of all accounts', () => {
    const annotations = { 'eks.amazonaws.com/role-arn': 'arn', own: 'a' };
    const { values, notes } = converted(
      merged(known, nested('serviceAccount.annotations', annotations)),
    );
    const serviceAccountAnnotations = { own: 'a' };
    expect(values['services']).toEqual(
      Object.fromEntries(
        ['podWatcher', 'solver', 'launcher', 'reaper'].map((name) => [
          name,
          { serviceAccountAnnotations },
        ]),
      ),
    );
    expect(notes).toMatchObject([{ text: expect.stringContaining('roles of their own') }]);
  });

  test.each([
    ['settings.assumeRoleARN', 'arn'],
    ['settings.aws.assumeRoleARN', 'arn'],
    ['controller.env', [{ name: 'ASSUME_ROLE_ARN', value: 'arn' }]],
  ])('the role of %s is that of the two services that call AWS', (path, value) => {
    const { values, notes } = converted(merged(known, nested(path, value)));
    const env = { ASSUME_ROLE_ARN: 'arn' };
    expect(values['services']).toEqual({ launcher: { env }, reaper: { env } });
    expect(notes).toMatchObject([{ text: expect.stringContaining('policies of deploy/iam') }]);
  });

  test('in the network of the host each service has a port of its own', () => {
    const { values } = converted({ ...known, hostNetwork: true });
    expect(values['services']).toEqual({
      podWatcher: { port: 8_080 },
      solver: { port: 8_081 },
      launcher: { port: 8_082 },
      reaper: { port: 8_083 },
    });
  });

  test('a region of the environment counts, and what is missing is told', () => {
    const env = [{ name: 'AWS_REGION', value: 'eu-west-1' }];
    expect(convertValues({ controller: { env } }, undefined)).toMatchObject({
      values: { cluster: { region: 'eu-west-1' } },
      notes: [{ path: 'cluster.name' }],
    });
    expect(convertValues({}, undefined).notes.map(({ path }) => path)).toEqual([
      'cluster.name',
      'cluster.region',
    ]);
  });
});
