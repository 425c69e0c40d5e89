import { readSettings } from '@dovetail/runtime';
import { defaultLauncherConfig, type LauncherConfig } from '@dovetail/service-launcher';
import { expect, test } from 'vitest';

import { launcherConfigOf, launcherSettings } from './settings.js';

const named = { clusterName: 'lab', region: 'us-west-2' };

function configOf(env: Readonly<Record<string, string>>, ownCa?: string): LauncherConfig {
  const read = readSettings({ name: 'launcher', purpose: 'launches' }, launcherSettings, {
    env: { CLUSTER_NAME: named.clusterName, AWS_REGION: named.region, ...env },
    args: [],
  });
  if (read.kind === 'help') throw new Error('no help was asked for');
  return launcherConfigOf(read.settings, ownCa);
}

const defaults = { ...named, ...defaultLauncherConfig };
const { discovery } = defaults;
const ca = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');

test('without settings the config is the default', () => expect(configOf({})).toEqual(defaults));

test('the CA by which the launcher trusts the API server is in the config', () =>
  expect(configOf({}, ca)).toEqual({ ...defaults, ownCa: ca }));

test.each<[string, string, Partial<LauncherConfig>]>([
  ['CLUSTER_NAME', 'prod', { clusterName: 'prod' }],
  ['AWS_REGION', 'eu-west-1', { region: 'eu-west-1' }],
  ['CLUSTER_ENDPOINT', 'https://10.0.0.1', { clusterEndpoint: 'https://10.0.0.1' }],
  ['CLUSTER_CA_BUNDLE', ca, { clusterCa: ca }],
  ['CLUSTER_SERVICE_CIDR', '10.77.0.0/16', { clusterServiceCidr: '10.77.0.0/16' }],
  ['ISOLATED_VPC', 'true', { isolatedVpc: true }],
  [
    'VM_MEMORY_OVERHEAD_PERCENT',
    '0.2',
    { discovery: { ...discovery, vmMemoryOverheadPercent: 0.2 } },
  ],
  ['RESERVED_ENIS', '1', { discovery: { ...discovery, reservedEnis: 1 } }],
  ['MIN_VALUES_POLICY', 'BestEffort', { minValuesPolicy: 'BestEffort' }],
  ['HOSTNAME_SPREAD', 'strict', { hostnameSpread: 'strict' }],
  ['PLACEMENT', 'scheduler', { placement: 'scheduler' }],
  ['DEFAULT_INSTANCE_PROFILE', 'nodes', { defaultInstanceProfile: 'nodes' }],
])('%s=%s changes the config', (name, value, change) =>
  expect(configOf({ [name]: value })).toEqual({ ...defaults, ...change }),
);
