import { describe, expect, test } from 'vitest';

import type { SimulateRequest } from './run.js';
import { folderOf, pod, pool, resultOf, simulate } from './testing/simulating.js';

const ours = pool(
  '',
  '[{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]',
).replace(
  '{group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}',
  '{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}',
);
const nodeClass = (status: string): string => `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
${status}`;
const inZone = (zone: string): string =>
  nodeClass(`status: {subnets: [{id: subnet-1, zone: ${zone}, zoneID: x}]}`);
const world = (classText: string): string =>
  folderOf({ 'world.yaml': [ours, classText, pod('a', '1')].join('\n---\n') });

type Where = Pick<SimulateRequest, 'catalog' | 'region' | 'zones' | 'environmentRegion'>;
const planned = async (classText: string, where: Where) => {
  // The helper has a catalog file unless another one is named.
  const ran = await simulate([world(classText)], { catalog: undefined, ...where } as never);
  return { ...ran, zones: ran.out === '' ? [] : resultOf(ran).newNodes[0]?.zones };
};

describe('the region and the zones', () => {
  test.each<[string, string, Where, readonly string[], string]>([
    [
      'of nothing',
      nodeClass(''),
      {},
      ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `us-east-1${letter}`),
      'note: the region us-east-1 is assumed by default, and classes without subnets get its zones us-east-1a, us-east-1b, us-east-1c, us-east-1d, us-east-1e, us-east-1f: name yours with --region and --zones\n',
    ],
    [
      'of AWS_REGION',
      nodeClass(''),
      { environmentRegion: 'us-west-2' },
      ['us-west-2a', 'us-west-2b', 'us-west-2c', 'us-west-2d'],
      'note: the region us-west-2 is assumed from AWS_REGION, and classes without subnets get its zones us-west-2a, us-west-2b, us-west-2c, us-west-2d: name yours with --region and --zones\n',
    ],
    [
      'of --region',
      nodeClass(''),
      { region: 'us-west-2', environmentRegion: 'eu-west-1' },
      ['us-west-2a', 'us-west-2b', 'us-west-2c', 'us-west-2d'],
      'note: classes without subnets get every zone of us-west-2 (us-west-2a, us-west-2b, us-west-2c, us-west-2d): name yours with --zones\n',
    ],
    ['of --zones', nodeClass(''), { zones: ['us-west-2b'] }, ['us-west-2b'], ''],
    ['of the class', inZone('eu-west-1b'), { environmentRegion: 'us-west-2' }, ['eu-west-1b'], ''],
    [
      'of the class before --zones',
      inZone('us-east-1b'),
      { zones: ['us-east-1a'] },
      ['us-east-1b'],
      '',
    ],
  ])('%s', async (_name, classText, where, zones, said) => {
    const ran = await planned(classText, where);
    expect([ran.code, ran.zones, ran.err]).toEqual([0, zones, said]);
  });
});

test.each<[string, Where, RegExp]>([
  [
    'a zone of another region',
    { region: 'us-east-1', zones: ['us-west-2a'] },
    /no zone of us-east-1/,
  ],
  ['two regions', { region: 'us-east-1', catalog: 'us-west-2' }, /exclude each other/],
  ['a region that does not exist', { region: 'mars-1' }, /mars-1 is neither a file nor a region/],
])('%s ends with 64 and says what to write', async (_name, where, said) => {
  const ran = await planned(nodeClass(''), where);
  expect(ran.code).toBe(64);
  expect(ran.err).toMatch(said);
});

test('zones beside a catalog file end with 64', async () => {
  expect(await simulate([world(nodeClass(''))], { zones: ['z1'] })).toMatchObject({
    code: 64,
    err: expect.stringContaining('has zones of its own'),
  });
});
