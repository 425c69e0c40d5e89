import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import type { SimulationResult } from './result.js';
import { runSimulate } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'dovetail-bad-input-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Ran = { readonly code: number; readonly out: string; readonly err: string };

async function simulate(text: string): Promise<Ran> {
  const file = join(folder, 'x.yaml');
  writeFileSync(file, text);
  let out = '';
  let err = '';
  const code = await runSimulate(
    {
      paths: [file],
      catalog: join(import.meta.dirname, '../../../../tests/planner-cases/catalog.json'),
      output: 'json',
      budgetMs: 0,
      boundSteps: 0,
      seed: 1,
      hostnameSpread: 'balanced',
      preferences: 'Respect',
    },
    { out: (one) => (out += one), err: (one) => (err += one), progress: () => undefined },
  );
  return { code, out, err };
}

const podOf = (spec: string, name = 'p', uid = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name}${uid} }\nspec:\n  ${spec}\n`;
const requesting = (resources: string): string =>
  podOf(`containers: [{ name: c, resources: ${resources} }]`);
const affine = (expression: string): string =>
  podOf(
    `affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [${expression}] }] } } }\n  containers: [{ name: c }]`,
  );
const deployment = (apiVersion: string): string =>
  `apiVersion: ${apiVersion}\nkind: Deployment\nmetadata: { name: d }\nspec: { template: { spec: { containers: [{ name: c }] } } }\n`;
const aliases = ['b', 'c', 'd', 'e']
  .map((name, index) => {
    const below = '*' + String.fromCharCode(97 + index);
    return `${name}: &${name} [${Array(9).fill(below).join(', ')}]\n`;
  })
  .join('');

test.each<[string, string, RegExp]>([
  [
    'a request below zero',
    requesting('{ requests: { cpu: -1 } }'),
    /x\.yaml:5: .*cpu: -1 .* 0 or more/,
  ],
  [
    'requests that are a list',
    requesting('{ requests: [1, 2] }'),
    /x\.yaml:5: .*requests: \[1,2\]/,
  ],
  [
    'a request that no cluster has',
    requesting('{ requests: { cpu: 1e400 } }'),
    /x\.yaml:5: .*requests\.cpu: "1e400" .* such as 500m, 2 or 4Gi/,
  ],
  ['requests that are a text', requesting('{ requests: abc }'), /x\.yaml:5: .*requests: "abc"/],
  ['resources that are a list', requesting('[1]'), /x\.yaml:5: .*resources: \[1\]/],
  [
    'a request that is no number',
    requesting('{ requests: { cpu: .nan } }'),
    /x\.yaml:5: .*cpu: NaN/,
  ],
  ['a pod without containers', podOf('nodeName: n'), /x\.yaml:4: spec\.containers: \(absent\)/],
  [
    'a template without containers',
    deployment('apps/v1').replace('containers: [{ name: c }]', 'containers: []'),
    /x\.yaml:4: spec\.template\.spec\.containers: \[\]/,
  ],
  [
    'an operator that only pools have',
    affine('{ key: k, operator: Gte, values: ["1"] }'),
    /x\.yaml:5: .*operator: "Gte"/,
  ],
  [
    'Gt with two values',
    affine('{ key: k, operator: Gt, values: ["1", "2"] }'),
    /x\.yaml:5: .*values: \["1","2"\] .* exactly one/,
  ],
  ['In without values', affine('{ key: k, operator: In }'), /x\.yaml:5: .*values: \(absent\)/],
  ['a file that is empty', '', /x\.yaml: there is no object here/],
  ['documents without content', '---\n---\n# nothing\n', /x\.yaml: there is no object here/],
  [
    'a workload in a group of long ago',
    deployment('extensions/v1beta1'),
    /x\.yaml:1: apiVersion: "extensions\/v1beta1" .* apps\/v1/,
  ],
  ['a workload in the core group', deployment('v1'), /x\.yaml:1: apiVersion: "v1" .* apps\/v1/],
  [
    'a kind in lower case',
    podOf('containers: [{ name: c }]').replace('Pod', 'pod'),
    /x\.yaml:2: kind: "pod" .* write Pod/,
  ],
  [
    'labels that contain themselves',
    'apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: p\n  labels: *m\nspec: { containers: [{ name: c }] }\n',
    /x\.yaml:5: an alias stands inside/,
  ],
  [
    'a list that contains itself',
    'apiVersion: v1\nkind: List\nitems: &i\n  - *i\n',
    /x\.yaml:4: an alias stands inside/,
  ],
  [
    'aliases of aliases that grow to thousands of values',
    `a: &a [x]\n${aliases}`,
    /x\.yaml:2: aliases stand for too much/,
  ],
  [
    'an alias of another document',
    'a: &a x\nb: &c y\nd: *c\n---\napiVersion: v1\nkind: Pod\nmetadata: &m { name: p }\nspec: *a\n',
    /x\.yaml:8: the alias \*a has no anchor before it in its document/,
  ],
  [
    'a template of Helm',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\nspec: {}\n',
    /x\.yaml:4: a map or list is a key here: .* `helm template`/,
  ],
  [
    'flow collections that nest 20,000 deep',
    `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`,
    /x\.yaml:1: .*nested too deeply/,
  ],
  [
    'mappings that nest 2,500 deep',
    Array.from({ length: 2_500 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join(''),
    /x\.yaml:1: .*nested too deeply/,
  ],
  [
    'JSON that nests 20,000 deep',
    `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    /x\.yaml:1: .*nested/,
  ],
])('%s ends with 64, and names file, line and remedy', async (_name, text, message) => {
  const ran = await simulate(text);
  expect({ code: ran.code, out: ran.out }).toEqual({ code: 64, out: '' });
  expect(ran.err).toMatch(message);
});

test('what is not a manifest is shown by its beginning only', async () => {
  const { code, err } = await simulate('x'.repeat(1_000_000));
  expect(code).toBe(64);
  expect(err.length).toBeLessThan(400);
});

test('a quoted text of ten million characters is read', async () => {
  const annotation = `metadata: { name: p, annotations: { a: "${'\\n'.repeat(5_000_000)}" } }`;
  const pod = podOf('containers: [{ name: c }]').replace('metadata: { name: p }', annotation);
  expect((await simulate(pod)).code).toBe(2);
});

test('an empty list is no mistake: kubectl prints one for a cluster without pods', async () =>
  expect(await simulate('apiVersion: v1\nkind: List\nitems: null\n')).toMatchObject({
    code: 0,
    err: 'note: no pod waits, and no workload asks for one: there is nothing to plan\n',
  }));

test('a kind of that name in the group of a CRD is left aside, with its group', async () =>
  expect((await simulate(deployment('apps.kruise.io/v1alpha1'))).err).toContain(
    'note: these kinds play no part in planning: Deployment of apps.kruise.io (1)\n',
  ));

test('two pods with one uid are both planned, and that is said', async () => {
  const containers = 'containers: [{ name: c }]';
  const { out, err } = await simulate(
    `${podOf(containers, 'p', ', uid: a')}---\n${podOf(containers, 'q', ', uid: a')}`,
  );
  const { unschedulable } = JSON.parse(out) as SimulationResult;
  expect(unschedulable.map(({ pod }) => pod)).toEqual(['default/q', 'default/p']);
  expect(err).toBe('note: Pod default/q has the uid of Pod default/p: both count\n');
});

test('classes that a pod names and the input lacks are said', async () => {
  const spec = 'priorityClassName: high\n  runtimeClassName: gvisor\n  containers: [{ name: c }]';
  expect((await simulate(podOf(spec))).err).toBe(
    'note: PriorityClass/high is not in the manifests: it changes nothing\n' +
      'note: RuntimeClass/gvisor is not in the manifests: it changes nothing\n',
  );
});

test('a budget that cannot be read costs its pool no launch, and a note says what it holds', async () => {
  const { code, err } = await simulate(`${requesting('{ requests: { cpu: 1 } }')}---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  disruption: { budgets: [{ nodes: "5", schedule: "CRON_TZ=Asia/Tokyo 0 9 * * *", duration: 1h }] }
  template:
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
      requirements: []
`);
  expect(code).toBe(0);
  expect(err).toMatch(/^note: NodePool\/general lets no node go: .*\.schedule is .*UTC/m);
});
