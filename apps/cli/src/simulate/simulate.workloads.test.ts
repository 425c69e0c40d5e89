import { describe, expect, test } from 'vitest';

import {
  folderOf,
  pod,
  pool,
  resultOf,
  simulate,
  template,
  workload,
} from './testing/simulating.js';

describe('workloads stand for their pods', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'a Deployment',
      workload('Deployment', `  replicas: 2\n${template('100m')}`),
      ['default/web-0', 'default/web-1'],
    ],
    ['a ReplicaSet of one', workload('ReplicaSet', template('100m')), ['default/web-0']],
    [
      'a StatefulSet',
      workload('StatefulSet', `  replicas: 2\n${template('100m')}`),
      ['default/web-0', 'default/web-1'],
    ],
    [
      'a workload scaled to nothing',
      workload('Deployment', `  replicas: 0\n${template('100m')}`),
      [],
    ],
    [
      'a Job',
      workload('Job', `  parallelism: 3\n  completions: 2\n${template('100m')}`, 'batch/v1'),
      ['default/web-0', 'default/web-1'],
    ],
    ['a suspended Job', workload('Job', `  suspend: true\n${template('100m')}`, 'batch/v1'), []],
    [
      'a CronJob: one run',
      workload(
        'CronJob',
        `  schedule: "* * * * *"\n  jobTemplate:\n    spec:\n      parallelism: 2\n${template('100m', '      ')}`,
        'batch/v1',
      ),
      ['default/web-0', 'default/web-1'],
    ],
  ])('%s', async (_name, text, pods) => {
    const ran = await simulate([folderOf({ 'all.yaml': [pool(), text].join('\n---\n') })]);
    expect(ran).toMatchObject({ code: 0 });
    expect(resultOf(ran).newNodes.flatMap((node) => node.pods)).toEqual(pods);
  });
  test('a DaemonSet takes its room on every new node', async () => {
    const result = resultOf(
      await simulate([
        folderOf({
          'all.yaml': [pool(), pod('a', '1500m'), workload('DaemonSet', template('500m'))].join(
            '\n---\n',
          ),
        }),
      ]),
    );
    expect(
      result.newNodes.map((node) => [node.instanceTypes[0], node.requests['cpu'], node.pods]),
    ).toEqual([['m5.xlarge', '2', ['default/a']]]);
  });
  test.each([
    [
      'the defaults of a LimitRange',
      'apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: default}\nspec: {limits: [{type: Container, default: {cpu: 500m}}]}\n',
    ],
    [
      'the overhead of a RuntimeClass',
      'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: vm}\nhandler: vm\noverhead: {podFixed: {cpu: 500m}}\n',
    ],
  ])('a DaemonSet and a Deployment ask for %s, as their pods will', async (_what, object) => {
    const bare =
      '  template:\n    metadata: {labels: {app: web}}\n    spec:\n      runtimeClassName: vm\n      containers: [{name: c}]\n';
    const texts = [
      pool(),
      object,
      workload('Deployment', `  replicas: 2\n${bare}`),
      workload('DaemonSet', bare),
    ];
    const result = resultOf(await simulate([folderOf({ 'all.yaml': texts.join('\n---\n') })]));
    expect(result.newNodes.map((node) => node.requests['cpu'])).toEqual(['1500m']);
  });
  test('pods that are there already are not asked for again', async () => {
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: 'web', uid: 'd' },
          spec: { replicas: 3, template: { metadata: {}, spec: { containers: [{ name: 'c' }] } } },
        },
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          metadata: {
            name: 'web-1',
            uid: 'r',
            ownerReferences: [
              {
                apiVersion: 'apps/v1',
                kind: 'Deployment',
                name: 'web',
                uid: 'd',
                controller: true,
              },
            ],
          },
          spec: { replicas: 3, template: { spec: {} } },
        },
        ...['x', 'y'].map((name) => ({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: {
            name,
            uid: name,
            ownerReferences: [
              {
                apiVersion: 'apps/v1',
                kind: 'ReplicaSet',
                name: 'web-1',
                uid: 'r',
                controller: true,
              },
            ],
          },
          spec: { containers: [{ name: 'c' }] },
        })),
      ],
    };
    const result = resultOf(
      await simulate([folderOf({ 'pool.yaml': pool(), 'dump.json': JSON.stringify(list) })]),
    );
    expect(result.newNodes.flatMap((node) => node.pods)).toEqual([
      'default/web-2',
      'default/x',
      'default/y',
    ]);
  });
  test('the last of two of one name counts, and that is said', async () => {
    const ran = await simulate([
      folderOf({
        'a.yaml': pool(),
        'b.yaml': workload('Deployment', `  replicas: 5\n${template('1')}`),
        'c.yaml': workload('Deployment', `  replicas: 1\n${template('1')}`),
      }),
    ]);
    expect(resultOf(ran).stats.pods).toBe(1);
    expect(ran.err).toContain('Deployment default/web is given more than once');
  });
  test('priority and runtime classes are applied as the API server applies them', async () => {
    const classes =
      'apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: vm}\nhandler: vm\noverhead: {podFixed: {cpu: 500m}}\n';
    const result = resultOf(
      await simulate([
        folderOf({
          'all.yaml': [pool(), classes, pod('a', '1', '  runtimeClassName: vm')].join('\n---\n'),
        }),
      ]),
    );
    expect(result.newNodes.map((node) => node.requests['cpu'])).toEqual(['1500m']);
  });
  test('kinds that play no part are named', async () =>
    expect(
      (
        await simulate([
          folderOf({
            'all.yaml': [pool(), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n'].join(
              '\n---\n',
            ),
          }),
        ])
      ).err,
    ).toContain('ConfigMap (1)'));
});

test('pods that are not placed for one reason are named by workload', async () => {
  const files = {
    'all.yaml': [
      pool(),
      workload('Deployment', `  replicas: 3\n${template('99')}`),
      workload('StatefulSet', `  replicas: 2\n${template('99')}`).replace('name: web', 'name: db'),
    ].join('\n---\n'),
  };
  const { out } = await simulate([folderOf(files)], { output: 'table' });
  expect(out).toMatch(/^default\/(db-0, default\/web-0|web-0, default\/db-0) \+3 pods /m);
});
