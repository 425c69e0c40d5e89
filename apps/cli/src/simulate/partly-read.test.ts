import { expect, test } from 'vitest';

import { folderOf, pod, pool, resultOf, simulate } from './testing/simulating.js';

const nodeClass = (name: string, spec: string): string => `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ${name}}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
${spec}`;
const poolOf = (name: string, className: string): string =>
  pool()
    .replace('metadata: {name: default}', `metadata: {name: ${name}}`)
    .replace(
      '{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}',
      `{group: karpenter.k8s.aws, kind: EC2NodeClass, name: ${className}}`,
    );

test('objects that cannot be read are all told, and the rest is planned', async () => {
  const folder = folderOf({
    'a.yaml': [poolOf('good', 'good'), nodeClass('good', ''), pod('a', '1')].join('\n---\n'),
    'b.yaml': 'apiVersion: v1\nkind: [Pod\n',
    'c.yaml': pod('c', 'lots'),
    'd.json': '[{"apiVersion": "v1", "metadata": {"name": "x"}}]',
  });
  const ran = await simulate([folder], { catalog: 'us-east-1' });
  expect(ran.code).toBe(4);
  expect(resultOf(ran).newNodes.map((node) => node.pods)).toEqual([['default/a']]);
  expect(resultOf(ran).problems.map(({ code, file }) => [code, file?.slice(-6)])).toEqual([
    ['unreadable', 'b.yaml'],
    ['unreadable', 'd.json'],
    ['unreadable', 'c.yaml'],
  ]);
  for (const { message } of resultOf(ran).problems) expect(ran.err).toContain(message);
  expect((await simulate([folder], { catalog: 'us-east-1', strict: true })).code).toBe(64);
});

test('the pool of a refused class is left out by name, and does not get another class', async () => {
  const refused = '  capacityReservationSelectorTerms: [{id: cr-12345678}]\n';
  const files = {
    'world.yaml': [
      poolOf('good', 'good'),
      nodeClass('good', ''),
      poolOf('reserved', 'reserved'),
      nodeClass('reserved', refused),
      pod('a', '1'),
    ].join('\n---\n'),
  };
  const ran = await simulate([folderOf(files)], { catalog: 'us-east-1' });
  expect(ran.code).toBe(4);
  expect(resultOf(ran).newNodes.map((node) => node.nodePool)).toEqual(['good']);
  expect(ran.err).toContain('spec.capacityReservationSelectorTerms');
  expect(ran.err).toContain(
    'warning: NodePool reserved is left out, because its EC2NodeClass reserved cannot be used',
  );
});

test.each<[string, string | undefined, number]>([
  ['the version that is assumed', undefined, 64],
  ['Kubernetes 1.33', 'v1.33.1-eks-1', 4],
  ['Kubernetes 1.31', 'v1.31.4-eks-1', 0],
])('the images of a class are judged by %s', async (_name, kubeletVersion, code) => {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: { nodeInfo: { kubeletVersion } },
  };
  const al2 = nodeClass('good', '').replace('al2023@latest', 'al2@latest');
  const files = {
    'world.yaml': [poolOf('good', 'good'), al2, pod('a', '1')].join('\n---\n'),
    ...(kubeletVersion === undefined ? {} : { 'node.json': JSON.stringify(node) }),
  };
  const ran = await simulate([folderOf(files)], { catalog: 'us-east-1' });
  expect(ran.code).toBe(code);
  expect(ran.err.includes('no Amazon Linux 2 image')).toBe(code !== 0);
});

test('without a pool that can be used nothing is planned, and the command ends with 64', async () => {
  const files = { 'world.yaml': `${pool('  weight: 0')}\n---\n${pod('a', '1')}` };
  expect(await simulate([folderOf(files)])).toMatchObject({ code: 64, out: '' });
});

const items = (...texts: readonly string[]): string =>
  texts.map((text) => `  - ${text.trim().replaceAll('\n', '\n    ')}`).join('\n');
const untyped = (text: string): string => text.replace(/^apiVersion.*\nkind.*$/m, '').trim();

test('the items of a typed list are of its kind, as an API server writes them', async () => {
  const files = {
    'pods.yaml': `apiVersion: v1\nkind: PodList\nitems:\n${items(untyped(pod('a', '1')), untyped(pod('b', '1')))}\n`,
    'pools.json': JSON.stringify({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePoolList',
      items: [
        {
          metadata: { name: 'default' },
          spec: {
            template: {
              spec: {
                nodeClassRef: { group: 'g', kind: 'KWOKNodeClass', name: 'default' },
                requirements: [],
              },
            },
          },
        },
      ],
    }),
  };
  const ran = await simulate([folderOf(files)]);
  expect(ran).toMatchObject({ code: 0, err: '' });
  expect(resultOf(ran).newNodes.flatMap((node) => node.pods)).toEqual(['default/a', 'default/b']);
});

test('an item of a list without a type still has to say its kind', async () => {
  const files = {
    'x.yaml': `apiVersion: v1\nkind: List\nitems:\n${items(untyped(pod('a', '1')))}\n`,
  };
  expect((await simulate([folderOf(files)])).err).toMatch(
    /x\.yaml:\d+: items\[0\]\.kind: \(absent\)/,
  );
});
