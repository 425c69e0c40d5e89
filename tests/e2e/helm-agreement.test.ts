import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { assumedRequestsOf, permilleOf } from '@dovetail/core-scheduling/sizing';
import {
  awsSettings,
  commonSettings,
  dollars,
  instanceProfileName,
  keepingSettings,
  leaderSettings,
  planningSettings,
  queueName,
} from '@dovetail/runtime';
import { helmFor, rendererOf } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/**
 * The chart refuses what a service would refuse: each value is given to a real Helm, and to the
 * reader of its setting.
 */
const root = join(import.meta.dirname, '..', '..');
const helm = await helmFor('agreement of chart and services');
const render = rendererOf(helm);

/** A value of the chart, the reader of its setting, and texts that both take or refuse. */
type Case = {
  readonly value: string;
  readonly read: (text: string) => unknown;
  readonly good: readonly string[];
  readonly bad: readonly string[];
};
/** A setting of one service alone, whose table no test may import: the built service reads it. */
const byStart =
  (service: string, variable: string) =>
  (text: string): void => {
    // It never starts, because its port is wrong, too.
    const { stderr } = spawnSync(process.execPath, [join(root, 'dist', `${service}.js`)], {
      env: { PATH: process.env['PATH'], HTTP_PORT: 'none', [variable]: text },
      encoding: 'utf8',
    });
    if (!stderr.includes('HTTP_PORT')) throw new Error(`${service} read no settings: ${stderr}`);
    if (stderr.includes(`(or ${variable}) is "`)) throw new Error('refused');
  };
/** A reader whose refusal is undefined. */
const orRefused =
  (read: (text: string) => unknown) =>
  (text: string): void => {
    if (read(text) === undefined) throw new Error('refused');
  };
/** An empty text counts as absent. */
const orNone =
  (read: (text: string) => unknown) =>
  (text: string): unknown =>
    text === '' ? '' : read(text);

const cases: readonly Case[] = [
  {
    value: 'cluster.name',
    read: commonSettings.clusterName.parse,
    good: ['lab', 'A_b-1', '0a'],
    bad: ['my.cluster', '-lab', 'a'.repeat(101)],
  },
  {
    value: 'cluster.region',
    read: awsSettings.region.parse,
    good: ['us-west-2', 'cn-north-1', 'us-gov-west-1', 'ap-southeast-10'],
    bad: ['us-west-2a', 'US-WEST-2', 'west', 'us_west_2', 'us-west'],
  },
  {
    value: 'nats.url',
    read: commonSettings.natsUrl.parse,
    good: ['nats://nats:4222', 'tls://a.b:4222\\,nats://[::1]:4222', 'nats://10.0.0.1'],
    bad: [
      'ws://nats:4222',
      'nats://',
      'nats://user:secret@nats:4222',
      'nats://nats:99999',
      'nats://4222',
      'nats://nats:4222\\, nats://b',
      'nats://-nats:4222',
    ],
  },
  {
    value: 'nats.replicas',
    read: commonSettings.natsReplicas.parse,
    good: ['1', '5'],
    bad: ['0', '6', 'three'],
  },
  {
    value: 'interruptionQueue',
    read: orNone(queueName),
    good: ['', 'my-cluster', 'a_B-1'],
    bad: ['https://sqs.us-west-2.amazonaws.com/1/q', 'arn:aws:sqs:us-west-2:1:q', 'q.fifo'],
  },
  {
    value: 'defaultInstanceProfile',
    read: orNone(instanceProfileName),
    good: ['', 'nodes', 'a+=.@_-b'],
    bad: ['arn:aws:iam::1:instance-profile/nodes', '/path/nodes', 'a b'],
  },
  {
    value: 'assumedRequests',
    read: orRefused(assumedRequestsOf),
    good: ['none', 'cpu=25m\\,memory=250Mi', 'memory=1.5Gi', 'memory=1Gi\\,cpu=1'],
    bad: ['foo', 'cpu=a', 'cpu=1\\,cpu=2', 'gpu=1', 'cpu=-1', 'cpu', 'cpu=1\\, memory=1Gi'],
  },
  {
    value: 'leaseDuration',
    read: leaderSettings.leaseDurationMs.parse,
    good: ['1s', '1m30s', '01h', '24h'],
    bad: ['0s', '100ms', 'soon', '25h', '100000s', '15'],
  },
  {
    value: 'nodeCharge',
    read: dollars,
    good: ['0', '0.02', '12'],
    bad: ['-1', '0.0000001', 'cheap'],
  },
  {
    value: 'consolidationMoveCost',
    read: dollars,
    good: ['0', '0.003'],
    bad: ['-1', '0.0000001', 'cheap'],
  },
  {
    value: 'fewerNodesWithin',
    read: orRefused(permilleOf),
    good: ['0', '1.5', '10'],
    bad: ['0.15', '11', '10.5'],
  },
  {
    value: 'placement',
    read: byStart('launcher', 'PLACEMENT'),
    good: ['bind', 'scheduler'],
    bad: ['both'],
  },
  {
    value: 'consolidation',
    read: keepingSettings.consolidation.parse,
    good: ['all', 'search', 'replace', 'delete', 'none'],
    bad: ['on'],
  },
  {
    value: 'preferencePolicy',
    read: byStart('solver', 'PREFERENCE_POLICY'),
    good: ['Respect', 'Ignore'],
    bad: ['ignore'],
  },
  {
    value: 'minValuesPolicy',
    read: planningSettings.minValuesPolicy.parse,
    good: ['Strict', 'BestEffort'],
    bad: ['strict'],
  },
  {
    value: 'hostnameSpread',
    read: planningSettings.hostnameSpread.parse,
    good: ['balanced', 'strict'],
    bad: ['Strict'],
  },
  ...(['Idle', 'Max'] as const).map((name) => ({
    value: `settings.batch${name}Duration`,
    read: byStart('pod-watcher', `BATCH_${name.toUpperCase()}_DURATION`),
    good: ['0s', '250ms', '1m30s'],
    bad: ['1 s', 'soon', '-1s'],
  })),
  {
    value: 'settings.clusterEndpoint',
    read: byStart('launcher', 'CLUSTER_ENDPOINT'),
    good: ['', 'https://10.0.0.1:443', 'https://[fd00::1]'],
    bad: ['10.0.0.1:443', '/path'],
  },
  {
    value: 'settings.clusterCABundle',
    read: byStart('launcher', 'CLUSTER_CA_BUNDLE'),
    good: ['', 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tQ0E='],
    bad: ['/etc/ca.crt', 'Q0E='],
  },
  {
    value: 'settings.clusterServiceCidr',
    read: byStart('launcher', 'CLUSTER_SERVICE_CIDR'),
    good: ['', '172.20.0.0/16', 'fd00::/108'],
    bad: ['172.20.0.0', 'services'],
  },
  {
    value: 'settings.isolatedVPC',
    read: byStart('launcher', 'ISOLATED_VPC'),
    good: ['true', 'false'],
    bad: ['yes'],
  },
  {
    value: 'settings.vmMemoryOverheadPercent',
    read: byStart('launcher', 'VM_MEMORY_OVERHEAD_PERCENT'),
    good: ['0', '0.075', '0.5'],
    bad: ['1', '-0.1', 'some'],
  },
  {
    value: 'settings.reservedENIs',
    read: byStart('launcher', 'RESERVED_ENIS'),
    good: ['0', '2'],
    bad: ['-1', '101', 'one'],
  },
  {
    value: 'settings.disableClusterStateObservability',
    read: byStart('reaper', 'DISABLE_CLUSTER_STATE_OBSERVABILITY'),
    good: ['true', 'false'],
    bad: ['yes'],
  },
  {
    value: 'logLevel',
    read: commonSettings.logLevel.parse,
    good: ['debug', 'info', 'warn', 'error'],
    bad: ['trace'],
  },
];

/** The text itself, where `--set` needs a comma escaped. */
const plain = (text: string): string => text.replaceAll('\\', '');

(helm === undefined ? describe.skip : describe)('chart and services agree', () => {
  test.each(
    cases.flatMap(({ good, ...each }) => good.map((text) => [each.value, text, each] as const)),
  )('%s=%s is taken by both', async (value, text, { read }) => {
    read(plain(text));
    await render(`${value}=${text}`);
  });

  test.each(
    cases.flatMap(({ bad, ...each }) => bad.map((text) => [each.value, text, each] as const)),
  )('%s=%s is refused by both', async (value, text, { read }) => {
    expect(() => read(plain(text))).toThrow();
    await expect(render(`${value}=${text}`)).rejects.toThrow(`'/${value.replaceAll('.', '/')}'`);
  });

  test.each([
    ['services.podWatcher.env.BATCH_IDEL=1s', 'services.pod-watcher.env has BATCH_IDEL'],
    ['services.solver.env.LEGACY_NODE_REPAIR=true', 'LEGACY_NODE_REPAIR, which solver does not'],
    ['common.env.PLAN_BUDGETS=1s', 'common.env has PLAN_BUDGETS, which no service reads'],
    ['services.reaper.env.TOKEN.valueFrom.secretKeyRef.name=own', 'TOKEN, which reaper does not'],
    ['services.reaper.extraEnv.LEGACY_NODE_REPAIR=true', 'LEGACY_NODE_REPAIR, which Dovetail'],
    ['common.extraEnv.CLUSTER_NAME=x', 'CLUSTER_NAME, which Dovetail reads: write it into env'],
  ])('%s is refused, because nothing would read it there', (value, message) =>
    expect(render(value)).rejects.toThrow(message),
  );

  test.each([
    'common.env.PLAN_BUDGET=1s',
    'common.env.https_proxy=http://proxy',
    'services.solver.env.NODE_OPTIONS=--enable-source-maps',
    'services.launcher.env.AWS_CA_BUNDLE=/ca/ca.crt',
    'services.reaper.env.AWS_SECRET_ACCESS_KEY.valueFrom.secretKeyRef.name=own',
    'common.extraEnv.DD_AGENT_HOST.valueFrom.fieldRef.fieldPath=status.hostIP',
  ])('%s is taken', async (value) => {
    await render(value);
  });

  test.each([
    ['reaper', 'LEGACY_NODE_REPAIR', 'true', 'yes', 'give one of true, false'],
    ['launcher', 'KUBE_CLIENT_QPS', '300', '0', 'give a whole number from 1 to 100000'],
    ['reaper', 'CONSOLIDATION_SAVING_PERCENT', '', 'one', 'give a whole number from 0 to 100'],
    ['podWatcher', 'BATCH_OWNER_IDLE_DURATION', '1m30s', '1 s', 'give a duration'],
    ['reaper', 'CONSOLIDATION_SAVING_MIN', '0.02', '1e-5', 'give US dollars'],
    ['solver', 'LOG_LEVEL', 'debug', 'trace', 'give one of debug, info, warn, error'],
  ])('%s.env.%s may be %j but not %j, with the words of the service', async (service, ...row) => {
    const [name, good, bad, remedy] = row;
    const given = (value: string): string => `services.${service}.env.${name}=${value}`;
    await render(given(good));
    await expect(render(given(bad))).rejects.toThrow(
      `${name}=${bad}, which no service takes: ${remedy}`,
    );
  });
});
