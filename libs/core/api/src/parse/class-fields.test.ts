import { describe, expect, test } from 'vitest';

import {
  readBlockDevices,
  readClassStatus,
  readMetadataOptions,
  readTags,
} from './class-fields.js';

describe('a block device', () => {
  test.each<[string, object, string]>([
    ['of no size', {}, 'd[0].ebs'],
    ['of size zero', { volumeSize: '0' }, 'd[0].ebs.volumeSize'],
    ['of a size that is none', { volumeSize: 'large' }, 'd[0].ebs.volumeSize'],
    ['of an unknown type', { volumeSize: '1Gi', volumeType: 'gp4' }, 'd[0].ebs.volumeType'],
    ['with no input and output', { volumeSize: '1Gi', iops: 0 }, 'd[0].ebs.iops'],
    [
      'initialised at a rate without a snapshot',
      { volumeSize: '1Gi', volumeInitializationRate: 100 },
      'd[0].ebs.volumeInitializationRate',
    ],
    [
      'initialised too slowly',
      { snapshotID: 'snap-1', volumeInitializationRate: 99 },
      'd[0].ebs.volumeInitializationRate',
    ],
  ])('%s is refused by field', (_name, ebs, field) =>
    expect(() => readBlockDevices([{ ebs }], 'd')).toThrow(`${field}: `),
  );

  test('may take its size from a snapshot', () =>
    expect(readBlockDevices([{ ebs: { snapshotID: 'snap-1' } }], 'd')).toEqual([
      { rootVolume: false, ebs: { snapshotId: 'snap-1' } },
    ]));

  test('may be the root volume once, and there may be fifty', () => {
    const root = { rootVolume: true };
    const many = (length: number): object[] => Array.from({ length }, () => ({}));
    expect(() => readBlockDevices([root, root], 'd')).toThrow('only one mapping');
    expect(readBlockDevices(many(50), 'd')).toHaveLength(50);
    expect(() => readBlockDevices(many(51), 'd')).toThrow('write at most 50 mappings');
  });
});

describe('metadata options', () => {
  test('have the defaults of their API generation', () => {
    const modern = readMetadataOptions(undefined, 'm', 1);
    expect(modern).toEqual({
      httpEndpoint: 'enabled',
      httpProtocolIpv6: 'disabled',
      httpPutResponseHopLimit: 1,
      httpTokens: 'required',
    });
    expect(readMetadataOptions(undefined, 'm', 2)).toEqual({
      ...modern,
      httpPutResponseHopLimit: 2,
    });
  });

  test.each<[object, string]>([
    [{ httpEndpoint: 'on' }, 'm.httpEndpoint'],
    [{ httpTokens: 'none' }, 'm.httpTokens'],
    [{ httpPutResponseHopLimit: 0 }, 'm.httpPutResponseHopLimit'],
    [{ httpPutResponseHopLimit: 65 }, 'm.httpPutResponseHopLimit'],
  ])('%j are refused by %s', (options, field) =>
    expect(() => readMetadataOptions(options, 'm', 1)).toThrow(`${field}: `),
  );
});

test.each([
  'eks:eks-cluster-name',
  'karpenter.sh/nodepool',
  'karpenter.sh/nodeclaim',
  'karpenter.sh/provisioner-name',
  'karpenter.k8s.aws/ec2nodeclass',
  'kubernetes.io/cluster/lab',
  'dovetail.sh/cluster-uid',
  '',
])('the tag %j belongs to Dovetail or to no one', (key) =>
  expect(() => readTags({ [key]: 'x' }, 'tags')).toThrow(/^tags/),
);

describe('the status of a class', () => {
  const amis = (requirements: readonly object[]): readonly object[] =>
    readClassStatus({ amis: [{ id: 'ami-1', requirements }] }, 'status').amis;
  const device = (name: string, operator: string): object => ({
    key: `karpenter.k8s.aws/instance-${name}-count`,
    operator,
  });

  test.each<[string, readonly object[], readonly string[]]>([
    ['says nothing of devices', [], ['standard', 'nvidia', 'neuron']],
    ['demands GPUs', [device('gpu', 'Exists')], ['nvidia']],
    ['demands accelerators', [device('accelerator', 'Exists')], ['neuron']],
    [
      'excludes both',
      [device('gpu', 'DoesNotExist'), device('accelerator', 'DoesNotExist')],
      ['standard'],
    ],
  ])('an image that %s serves its variants', (_name, requirements, variants) =>
    expect(amis(requirements).map((ami) => (ami as { variant: string }).variant)).toEqual(variants),
  );

  test('that is absent names nothing', () =>
    expect(readClassStatus({}, 'status')).toEqual({ subnets: [], securityGroups: [], amis: [] }));

  test('that holds something else is refused by field', () =>
    expect(() => readClassStatus({ subnets: 'all' }, 'status')).toThrow('status.subnets: '));
});
