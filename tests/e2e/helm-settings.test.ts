import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { at, present } from '@dovetail/core-invariant';
import { helmFor, type Rendered, rendererOf } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/**
 * Every setting on the settings page reaches its service through the chart, as a real Helm renders
 * it. `npm run settings-reference -- --check` holds the page to the settings of the services.
 */
const root = join(import.meta.dirname, '..', '..');
const helm = await helmFor('settings in the chart');
const rendered = rendererOf(helm);

/** Each service, as its heading on the page and as its block of values. */
const blocks = {
  'pod-watcher': 'podWatcher',
  solver: 'solver',
  launcher: 'launcher',
  reaper: 'reaper',
} as const;
type Service = keyof typeof blocks;
const services = Object.keys(blocks) as readonly Service[];

/** The value of the chart that a variable comes from, and another than its default. */
const ownValues: Readonly<Record<string, readonly [value: string, other: string, set?: string]>> = {
  CLUSTER_NAME: ['cluster.name', 'other'],
  NATS_URL: ['nats.url', 'tls://other:4222'],
  NATS_REPLICAS: ['nats.replicas', '3'],
  // A Secret with the key `creds`, and the place where the chart mounts it.
  NATS_CREDENTIALS: ['nats.credentialsSecret', '/etc/nats/creds'],
  NATS_CA: ['nats.tls.caSecret', '/etc/nats-ca/ca.crt'],
  NATS_CERT: ['nats.tls.clientSecret', '/etc/nats-client/tls.crt'],
  NATS_KEY: ['nats.tls.clientSecret', '/etc/nats-client/tls.key'],
  LOG_LEVEL: ['logLevel', 'debug'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['otel.endpoint', 'http://collector:4318'],
  LEASE_DURATION: ['leaseDuration', '1m30s'],
  AWS_REGION: ['cluster.region', 'eu-west-1'],
  MIN_VALUES_POLICY: ['minValuesPolicy', 'BestEffort'],
  HOSTNAME_SPREAD: ['hostnameSpread', 'strict'],
  PREFERENCE_POLICY: ['preferencePolicy', 'Ignore'],
  NODE_CHARGE: ['nodeCharge', '0.000010'],
  FEWER_NODES_WITHIN: ['fewerNodesWithin', '2.5'],
  ASSUMED_REQUESTS: ['assumedRequests', 'none'],
  PLACEMENT: ['placement', 'scheduler'],
  CONSOLIDATION: ['consolidation', 'none'],
  CONSOLIDATION_MOVE_COST: ['consolidationMoveCost', '0.000010'],
  DEFAULT_INSTANCE_PROFILE: ['defaultInstanceProfile', 'nodes'],
  INTERRUPTION_QUEUE: ['interruptionQueue', 'notices'],
  BATCH_IDLE_DURATION: ['settings.batchIdleDuration', '2s'],
  BATCH_MAX_DURATION: ['settings.batchMaxDuration', '20s'],
  CLUSTER_ENDPOINT: ['settings.clusterEndpoint', 'https://10.0.0.1:443'],
  CLUSTER_CA_BUNDLE: ['settings.clusterCABundle', 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tQ0E='],
  CLUSTER_SERVICE_CIDR: ['settings.clusterServiceCidr', '172.20.0.0/16'],
  ISOLATED_VPC: ['settings.isolatedVPC', 'true'],
  VM_MEMORY_OVERHEAD_PERCENT: ['settings.vmMemoryOverheadPercent', '0.05'],
  DISABLE_CLUSTER_STATE_OBSERVABILITY: ['settings.disableClusterStateObservability', 'true'],
  RESERVED_ENIS: ['settings.reservedENIs', '1'],
  FEATURE_GATES: [
    'settings.featureGates',
    'NodeRepair=true,SpotToSpotConsolidation=false',
    'settings.featureGates.nodeRepair=true',
  ],
};
/** Variables that follow from what else the chart makes. */
const fixed: Readonly<Record<string, string>> = {
  HTTP_PORT: 'the port of the probes',
  LOG_LEVEL_FILE: 'the mounted ConfigMap',
  REPLICA_NAME: "the pod's name",
  LEASE_NAMESPACE: "the release's namespace",
  TEST_CLOCK_FILE: 'refused in a cluster',
};
/** Variables that the chart sets unless a service has its own. */
const ownTexts: Readonly<Record<string, string>> = { LOG_LEVEL: 'debug', HTTP_HOST: '127.0.0.1' };
const ownMayDiffer = Object.keys(ownTexts);

const page = readFileSync(join(root, 'docs', 'reference', 'settings.md'), 'utf8');
const settingsUnder = (heading: string): readonly string[] =>
  [
    ...at(page.split(`\n## ${heading}\n`), 1)
      .split('\n## ', 1)
      .join('')
      .matchAll(/^\| `(\w+)`/gm),
  ].map((row) => at(row, 1));
/** The default of a setting, or a text of no meaning if it has none. */
const defaultOf = (name: string): string =>
  new RegExp(`^\\| \`${name}\` \\| [^|]* \\| \`([^\`]*)\` \\|`, 'm').exec(page)?.[1] ?? 'own';
const every = settingsUnder('Every service');
const settingsOf = (service: Service): readonly string[] => [...every, ...settingsUnder(service)];
const rows = services.flatMap((service) =>
  settingsOf(service).map((name) => [service, name] as const),
);

type Variable = { readonly name: string; readonly value?: string };

/** The pods of a service in the chart rendered with these values. */
async function podSpec(service: Service, ...values: readonly string[]): Promise<PodSpec> {
  const deployment = (await rendered(...values)).find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith(service),
  ) as Deployment | undefined;
  return present(deployment, 'each service has one').spec.template.spec;
}

/** The variables of a service in the chart rendered with these values. */
const variables = async (
  service: Service,
  ...values: readonly string[]
): Promise<readonly Variable[]> => at((await podSpec(service, ...values)).containers, 0).env;

type PodSpec = {
  readonly containers: readonly { readonly env: readonly Variable[] }[];
  readonly volumes?: readonly { readonly secret?: { readonly secretName: string } }[];
};
type Deployment = Rendered & { readonly spec: { readonly template: { readonly spec: PodSpec } } };

const given = (all: readonly Variable[], name: string): readonly (string | undefined)[] =>
  all.filter((variable) => variable.name === name).map(({ value }) => value);

(helm === undefined ? describe.skip : describe)('settings in the chart', () => {
  test('the page lists settings of each service', () =>
    expect(services.filter((service) => settingsUnder(service).length < 5)).toEqual([]));

  test.each(services)(
    'the chart sets nothing on %s that it does not read, and nothing twice',
    async (service) => {
      const secrets = ['credentialsSecret', 'tls.caSecret', 'tls.clientSecret'];
      const names = (
        await variables(service, ...secrets.map((secret) => `nats.${secret}=nats`))
      ).map(({ name }) => name);
      expect(names.filter((name) => !settingsOf(service).includes(name))).toEqual([]);
      expect(names).toEqual([...new Set(names)]);
    },
  );

  test.each(rows.filter(([, name]) => ownValues[name] !== undefined))(
    '%s gets %s from its value of the chart',
    async (service, name) => {
      const [value, other, set = `${value}=${other}`] = present(ownValues[name], 'each has one');
      expect(given(await variables(service, set), name)).toEqual([other]);
    },
  );

  test.each(
    rows.filter(([, name]) => ownValues[name] === undefined || ownMayDiffer.includes(name)),
  )('%s gets %s from its block, unless the chart fixes it', async (service, name) => {
    const text = ownTexts[name] ?? defaultOf(name);
    const own = variables(service, `services.${blocks[service]}.env.${name}=${text}`);
    if (fixed[name] === undefined) expect(given(await own, name)).toEqual([text]);
    else await expect(own).rejects.toThrow(`${name}: leave it out`);
  });

  test.each(Object.keys(ownValues).filter((name) => !ownMayDiffer.includes(name)))(
    '%s, which has a value of its own, is refused in the block of a service',
    (name) =>
      expect(variables('solver', `services.solver.env.${name}=x`)).rejects.toThrow(
        `${name}: set the value ${ownValues[name]?.[0]} of the chart instead`,
      ),
  );

  test.each([
    ['nodeCharge', ['0', '0.02', '12']],
    ['consolidationMoveCost', ['0', '0.003']],
    ['fewerNodesWithin', ['0', '1.5', '10']],
    ['leaseDuration', ['1s', '1m30s', '01h']],
  ])('%s may be %j', async (value, accepted) => {
    for (const each of accepted) await variables('solver', `${value}=${each}`);
  });

  test.each([
    ['nodeCharge', '-1'],
    ['nodeCharge', '0.0000001'],
    ['nodeCharge', 'cheap'],
    ['consolidationMoveCost', '-0.001'],
    ['fewerNodesWithin', '0.15'],
    ['fewerNodesWithin', '11'],
    ['fewerNodesWithin', '10.5'],
    ['assumedRequests', ''],
    ['leaseDuration', '0s'],
    ['leaseDuration', '100ms'],
    ['cluster.name', 'my.cluster'],
    ['nats.url', 'ws://nats:4222'],
    ['nats.url', 'nats://'],
    ['nats.url', 'nats://user:secret@nats:4222'],
    ['interruptionqueue', 'lab'],
    ['image.tagg', 'v1'],
    ['image.digest', 'latest'],
    ['common.replicas', '3'],
  ])('%s=%s is refused before anything is installed', (value, wrong) =>
    expect(variables('solver', `${value}=${wrong}`)).rejects.toThrow(/schema/),
  );

  test.each(rows.filter(([, name]) => ownValues[name]?.[0].startsWith('settings.')))(
    '%s has for %s the default of the service, unless the value is given',
    async (service, name) => {
      const [text = ''] = given(await variables(service), name);
      // Gates are off, and an empty text counts as absent.
      const off = 'NodeRepair=false,SpotToSpotConsolidation=false';
      expect(text === '' || text === off ? 'own' : text).toBe(defaultOf(name));
    },
  );

  test('a service has its own NATS user, or the one that all share', async () => {
    const values = ['nats.credentialsSecret=all', 'services.solver.natsCredentialsSecret=solver'];
    const secrets = await Promise.all(
      services.map(async (service) =>
        (await podSpec(service, ...values)).volumes?.flatMap(
          ({ secret }) => secret?.secretName ?? [],
        ),
      ),
    );
    expect(secrets).toEqual([['all'], ['solver'], ['all'], ['all']]);
  });

  test.each([
    ['the version of the chart', [], 'dovetail:0.1.0'],
    ['its tag', ['image.tag=v2'], 'dovetail:v2'],
    [
      'its digest, whatever the tag',
      ['image.tag=v2', `image.digest=sha256:${'a'.repeat(64)}`],
      `dovetail@sha256:${'a'.repeat(64)}`,
    ],
  ])('the image is named by %s', async (_by, values, image) =>
    expect(at((await podSpec('reaper', ...values)).containers, 0)).toMatchObject({ image }),
  );

  test('network policies let a solver out to NATS and DNS alone', async () => {
    const policies = async (...values: readonly string[]): Promise<readonly Rendered[]> =>
      (await rendered(...values)).filter(({ kind }) => kind === 'NetworkPolicy');
    expect(await policies('networkPolicy.enabled=false')).toEqual([]);
    const made = await policies('networkPolicy.natsPort=6222');
    expect(made).toHaveLength(services.length);
    expect(made.find(({ metadata }) => metadata.name.endsWith('solver'))).toMatchObject({
      spec: {
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ports: [{ port: 'http', protocol: 'TCP' }], from: [{ podSelector: {} }] }],
        egress: [
          { ports: [{ port: 6_222, protocol: 'TCP' }] },
          {
            ports: [
              { port: 53, protocol: 'UDP' },
              { port: 53, protocol: 'TCP' },
            ],
          },
        ],
      },
    });
  });

  test('metrics are read in the namespace of the release, and by pods that are named', async () => {
    const prometheus = { namespaceSelector: { matchLabels: { team: 'watchers' } } };
    const value = 'metrics.allowFrom[0].namespaceSelector.matchLabels.team=watchers';
    const made = (await rendered(value)).filter(({ kind }) => kind === 'NetworkPolicy');
    for (const policy of made)
      expect(policy).toMatchObject({
        spec: { ingress: [{ ports: [{ port: 'http' }], from: [{ podSelector: {} }, prometheus] }] },
      });
  });

  test.each([
    ['http://collector:4318', [], 4_318],
    ['http://collector', [], 80],
    ['https://vendor.example/otlp', [], 443],
    ['http://[::1]:4318', [], 4_318],
    ['http://collector:80', ['networkPolicy.otelPort=4318'], 4_318],
  ])('services send traces to %s, and solvers may reach it', async (url, more, port) => {
    const values = [`otel.endpoint=${url}`, ...more];
    for (const service of services)
      expect(at((await podSpec(service, ...values)).containers, 0).env).toContainEqual({
        name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
        value: url,
      });
    const policies = (await rendered(...values)).filter(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('solver'),
    );
    expect(policies).toMatchObject([
      { spec: { egress: [{}, {}, { ports: [{ port, protocol: 'TCP' }] }] } },
    ]);
  });

  test('a service is told of no receiver of traces unless there is one, and only by its value', async () => {
    const names = at((await podSpec('solver')).containers, 0).env?.map(({ name }) => name);
    expect(names).not.toContain('OTEL_EXPORTER_OTLP_ENDPOINT');
    await expect(podSpec('solver', 'otel.endpoint=collector:4318')).rejects.toThrow('endpoint');
    await expect(
      podSpec('solver', 'common.env.OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318'),
    ).rejects.toThrow('set the value otel.endpoint');
    const sampled = await podSpec('solver', 'common.env.OTEL_TRACES_SAMPLER=always_off');
    expect(at(sampled.containers, 0).env).toContainEqual({
      name: 'OTEL_TRACES_SAMPLER',
      value: 'always_off',
    });
  });

  test.each([
    ['nats://nats:4222', [4_222]],
    ['nats://nats', [4_222]],
    ['tls://a:5222\\,tls://b:6222\\,tls://c:5222', [5_222, 6_222]],
    ['nats://[::1]:4333', [4_333]],
  ])('solvers may reach the ports of %s', async (url, ports) => {
    const policies = (await rendered(`nats.url=${url}`)).filter(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('solver'),
    );
    expect(policies).toMatchObject([
      { spec: { egress: [{ ports: ports.map((port) => ({ port, protocol: 'TCP' })) }, {}] } },
    ]);
  });

  test('a small charge in a file of values is written as a plain decimal', async () =>
    expect(given(await variables('solver', 'nodeCharge=0.00001'), 'NODE_CHARGE')).toEqual([
      '0.000010',
    ]));
});
