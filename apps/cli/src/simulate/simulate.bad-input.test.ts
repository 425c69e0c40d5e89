import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import {
  dir,
  folderOf,
  offering,
  pod,
  pool,
  simulate,
  template,
  type,
  workload,
} from './testing/simulating.js';

describe('bad input ends with 64 and names', () => {
  test.each<[string, string, string, string | RegExp]>([
    [
      'a quantity',
      'pods.yaml',
      pod('a', 'lots'),
      /pods\.yaml:9: spec\.containers\[0\]\.resources\.requests\.cpu: "lots" cannot be used here: write a Kubernetes quantity/,
    ],
    [
      'a field of a template',
      'web.yaml',
      workload('Deployment', template('lots')),
      /web\.yaml:13: spec\.template\.spec\.containers\[0\]\.resources\.requests\.cpu: "lots"/,
    ],
    [
      'a field of a CronJob',
      'web.yaml',
      workload('CronJob', `  jobTemplate:\n    spec:\n${template('lots', '      ')}`, 'batch/v1'),
      /web\.yaml:\d+: spec\.jobTemplate\.spec\.template\.spec\.containers\[0\]\.resources\.requests\.cpu/,
    ],
    [
      'replicas',
      'web.yaml',
      workload('Deployment', `  replicas: many\n${template('1')}`),
      /web\.yaml:6: spec\.replicas: "many" cannot be used here: write an integer/,
    ],
    [
      'a field that is missing, by its parent',
      'pods.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n',
      /pods\.yaml:3: metadata\.name: \(absent\) cannot be used here: this field is required/,
    ],
    [
      'a second document',
      'all.yaml',
      `${pod('a', '1')}\n---\n${pod('b', 'x')}`,
      /all\.yaml:20: spec\.containers/,
    ],
    [
      'a pool',
      'pool.yaml',
      pool('  weight: 0'),
      /pool\.yaml:12: spec\.weight: 0 cannot be used here: write an integer, at least 1, at most 100/,
    ],
    [
      'a restricted label',
      'pool.yaml',
      pool('', '[{key: karpenter.sh/nodepool, operator: Exists}]'),
      /pool\.yaml:10: spec\.template\.spec\.requirements\[0\]\.key: "karpenter\.sh\/nodepool"/,
    ],
    [
      'another version',
      'pool.yaml',
      'apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n',
      /pool\.yaml:1: apiVersion: "karpenter\.sh\/v1beta1" cannot be used here: write NodePool in karpenter\.sh\/v1/,
    ],
    [
      'an object without a kind',
      'x.yaml',
      'apiVersion: v1\nmetadata: {name: a}\n',
      /x\.yaml:1: kind: \(absent\)/,
    ],
    [
      'a text instead of an object',
      'x.yaml',
      'hello\n',
      /x\.yaml:1: "hello" cannot be used here: write a Kubernetes object/,
    ],
    [
      'YAML that is none',
      'x.yaml',
      'apiVersion: v1\nkind: [Pod\nmetadata: {}\n',
      /x\.yaml:[23]: this is not valid YAML/,
    ],
    [
      'JSON that is none',
      'x.json',
      '{"kind": "Pod",\n "metadata": }\n',
      /x\.json:2: this is not valid JSON/,
    ],
    [
      'an item of a list',
      'x.json',
      JSON.stringify(
        {
          apiVersion: 'v1',
          kind: 'List',
          items: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 5 } }],
        },
        undefined,
        1,
      ),
      /x\.json:9: items\[0\]\.metadata\.name: 5 cannot be used here/,
    ],
    [
      'a key that holds dots',
      'x.yaml',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  nodeSelector:\n    a: b\n    topology.kubernetes.io/zone: 7\n  containers:\n    - name: c\n',
      /x\.yaml:8: spec\.nodeSelector\.topology\.kubernetes\.io\/zone: 7/,
    ],
  ])('%s', async (_name, file, text, message) => {
    const ran = await simulate([folderOf({ [file]: text })]);
    expect(ran).toMatchObject({ code: 64, out: '' });
    expect(ran.err).toMatch(message);
  });
  test('a path that is not there', async () =>
    expect(await simulate([join(dir, 'nowhere')])).toMatchObject({
      code: 64,
      err: expect.stringMatching(/nowhere: there is no such file or folder/),
    }));
  test('a folder without manifests', async () =>
    expect(await simulate([folderOf({ 'readme.md': '' })])).toMatchObject({
      code: 64,
      err: expect.stringContaining('holds no manifests'),
    }));
  test('a catalog', async () => {
    const folder = folderOf({
      'all.yaml': pool(),
      'types.json': JSON.stringify([type('a', 1, 1, { resources: { cpu: 'x' } })]),
      'broken.json': '[\n{]',
      'price.json': JSON.stringify(
        [type('a', 1, 1, { offerings: [offering('spot', 'z', -1)] })],
        undefined,
        1,
      ),
    });
    const file = join(folder, 'all.yaml');
    expect((await simulate([file], { catalog: join(folder, 'types.json') })).err).toMatch(
      /types\.json:1: \[0\]\.resources\.cpu: "x"/,
    );
    expect((await simulate([file], { catalog: join(folder, 'broken.json') })).err).toMatch(
      /broken\.json:2: the catalog is not valid JSON/,
    );
    expect((await simulate([file], { catalog: join(folder, 'price.json') })).err).toMatch(
      /price\.json:\d+: \[0\]\.offerings\[0\]\.Price: -1/,
    );
  });
});
