import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { schemaFaults } from '@dovetail/test-support/schemas';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';

/**
 * The built command. Its parts are loaded when they are needed, so each path through it must find
 * its own.
 */
const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'dovetail-command-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function simulate(...args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'dist/cli.js'), 'simulate', ...args],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  return { status, stdout, stderr };
}

/** A plan as the first search finds it. */
const planned = (path: string, region: string, format: string): ReturnType<typeof simulate> =>
  simulate('-f', path, '--catalog', region, '-o', format, '--budget', '0ms');

function fileOf(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

type Result = {
  readonly newNodes: readonly { readonly pods: readonly string[] }[];
  readonly unschedulable: readonly object[];
  readonly stats: { readonly pods: number };
};

/** The region whose types and zones each scenario asks for. */
const regions: Readonly<Record<string, string>> = {
  'expiry-upgrade': 'us-west-2',
  'inflate-memory': 'us-west-2',
  'layered-constraints': 'us-west-2',
  'spot-three-zones': 'eu-west-1',
  'team1-zonal-spread': 'eu-west-1',
};
const hasManifests = (folder: string): boolean =>
  readdirSync(folder).some((name) => name.endsWith('.yaml'));
const folders = (under: string): readonly (readonly [string, string])[] =>
  readdirSync(join(root, under), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && hasManifests(join(root, under, entry.name)))
    .map(({ name }) => [join(under, name), regions[name] ?? 'us-east-1']);

describe.each([...folders('tests/scenarios'), ...folders('examples')])(
  'dovetail simulate -f %s --catalog %s',
  (path, region) => {
    test('gives the plan in JSON, and shows it in a table', () => {
      const [json, table] = [planned(path, region, 'json'), planned(path, region, 'table')];
      const result = JSON.parse(json.stdout) as Result;
      const status = result.unschedulable.length > 0 ? 2 : 0;
      expect([json.status, table.status]).toEqual([status, status]);
      expect(schemaFaults('simulate', json.stdout)).toEqual([]);
      expect(result.newNodes.reduce((sum, node) => sum + node.pods.length, 0)).toBeGreaterThan(0);
      expect(table.stdout).toContain('INSTANCE TYPE');
    });
  },
);

/** A node that is far too large for its one pod. */
const underUsed = `
apiVersion: v1
kind: Node
metadata:
  name: one
  uid: one
  labels:
    karpenter.sh/nodepool: general
    karpenter.sh/registered: 'true'
    karpenter.sh/initialized: 'true'
    karpenter.sh/capacity-type: on-demand
    node.kubernetes.io/instance-type: m6g.4xlarge
    topology.kubernetes.io/zone: us-east-1a
    kubernetes.io/hostname: one
    kubernetes.io/arch: arm64
    kubernetes.io/os: linux
status:
  capacity: { cpu: '16', memory: 64Gi, pods: '100' }
  allocatable: { cpu: '16', memory: 64Gi, pods: '100' }
  conditions: [{ type: Ready, status: 'True' }]
---
apiVersion: v1
kind: Pod
metadata:
  name: only
  ownerReferences: [{ apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true }]
spec:
  nodeName: one
  containers: [{ name: main, image: x, resources: { requests: { cpu: 500m, memory: 1Gi } } }]
status: { phase: Running }
`;

describe('the JSON has the published form', () => {
  const outputOf = (...args: readonly string[]): string => simulate(...args, '-o', 'json').stdout;
  test.each([
    ['a pod that gets a node', 'simulate', ['-f', 'examples/web', '--explain', 'default/cache-0']],
    ['a pod that gets none', 'simulate', ['-f', 'examples/mixed', '--explain', 'trainer-0']],
    ['nothing to plan', 'simulate', ['-f', 'examples/web/nodepool.yaml']],
  ] as const)('of %s', (_what, schema, args) =>
    expect(schemaFaults(schema, outputOf(...args))).toEqual([]),
  );

  test('of what is not understood', () =>
    expect(
      schemaFaults(
        'simulate',
        outputOf('-f', fileOf('odd.yaml', 'kind: Deploymnt\n'), '-f', 'examples/web'),
      ),
    ).toEqual([]));

  test('of a node that consolidation replaces', () => {
    const pool = readFileSync(join(root, 'examples/web/nodepool.yaml'), 'utf8');
    const world = `${pool.replace('WhenEmpty', 'WhenEmptyOrUnderutilized')}---${underUsed}`;
    const json = outputOf('-f', fileOf('world.yaml', world), '--consolidate');
    expect(schemaFaults('consolidate', json)).toEqual([]);
    expect((JSON.parse(json) as { readonly commands: readonly object[] }).commands).toHaveLength(1);
  });
});

test('YAML says what JSON says', () => {
  const [json, yaml] = ['json', 'yaml'].map((format) =>
    planned('examples/web', 'us-east-1', format),
  );
  expect({ ...(parse(yaml?.stdout ?? '') as Result), stats: 0 }).toEqual({
    ...(JSON.parse(json?.stdout ?? '') as Result),
    stats: 0,
  });
});

const pod =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec:\n  containers:\n    - name: main\n      resources: { requests: { cpu: many } }\n';

describe('what cannot be read is said with file, line and field', () => {
  test.each([
    [
      'broken.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: "p\n',
      /broken\.yaml:\d+: this is not valid YAML/,
    ],
    ['quantity.yaml', pod, /quantity\.yaml:7: .*cpu/],
    [
      'priority.yaml',
      pod
        .replace('cpu: many', 'cpu: null')
        .replace('spec:\n', 'spec:\n  priority: 99999999999999999999\n'),
      /priority\.yaml:5: spec\.priority: .* at most 2147483647/,
    ],
    [
      'flow.yaml',
      `# comments\n---\n${pod.replace('kind: Pod', 'kind: &anchor Pod')}`,
      /flow\.yaml:9: .*cpu/,
    ],
  ])('%s', (name, text, message) =>
    expect(simulate('-f', fileOf(name, text))).toMatchObject({
      status: 64,
      stderr: expect.stringMatching(message),
    }),
  );
});

/**
 * How often a fresh process must end with its answer; the hundred is for who changes its threads.
 */
const starts = Number(process.env['COMMAND_STARTS'] ?? 4);

/** A pool and a thousand pods of a hundred deployments, whose spread takes HiGHS long to bound. */
function spreadWorld(): string {
  const deployments = Array.from({ length: 100 }, (_, index) => {
    const app = `app-${index}`;
    const spread = (topologyKey: string): object => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app } },
    });
    const keys = [
      ['topology.kubernetes.io/zone'],
      ['kubernetes.io/hostname'],
      ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
      [],
    ];
    const cpu = `${100 + ((index * 137) % 1_900)}m`;
    const memory = `${128 + ((index * 419) % 6_000)}Mi`;
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: app },
      spec: {
        replicas: 1 + ((index * 7) % 19),
        selector: { matchLabels: { app } },
        template: {
          metadata: { labels: { app } },
          spec: {
            containers: [{ name: 'main', image: 'app', resources: { requests: { cpu, memory } } }],
            topologySpreadConstraints: keys[index % keys.length]?.map(spread),
          },
        },
      },
    };
  });
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  const pool = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default' },
    spec: { template: { spec: { nodeClassRef, requirements: [] } } },
  };
  return [pool, ...deployments].map((object) => stringify(object)).join('---\n');
}

test(`on a thousand pods with spread, ${starts} fresh processes end with the answer`, () => {
  const file = fileOf('spread.yaml', spreadWorld());
  const ends = Array.from({ length: starts }, () => {
    const { status, stdout } = simulate(
      '-f',
      file,
      '--budget',
      '0',
      '--bound-steps',
      '4000',
      '-o',
      'json',
    );
    return { status, pods: stdout === '' ? 0 : (JSON.parse(stdout) as Result).stats.pods };
  });
  const pods = ends[0]?.pods ?? 0;
  expect(pods).toBeGreaterThan(900);
  expect(ends).toEqual(Array.from({ length: starts }, () => ({ status: 0, pods })));
});

test('npm has linked it under its name', () => {
  const { status, stdout } = spawnSync(join(root, 'node_modules', '.bin', 'dovetail'), ['--help'], {
    encoding: 'utf8',
  });
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^Usage: dovetail /),
  });
});

test('one pod is explained', () =>
  expect(simulate('-f', 'examples/mixed', '--explain', 'default/trainer-0')).toMatchObject({
    status: 2,
    stdout: expect.stringContaining('trainer-0'),
  }));
