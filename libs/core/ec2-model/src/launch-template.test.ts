import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { amiFor } from './ami-selection.js';
import { catalogFacts } from './catalog.js';
import {
  amiOfType,
  classTags,
  instanceTags,
  launchGroups,
  launchTemplateFor,
} from './launch-template.js';
import { ami, nodeClassWith } from './testing/node-class.js';
import { named, types } from './testing/types.js';

fc.configureGlobal({ seed: 1 });

const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };

describe('launch templates', () => {
  const groups = (...names: string[]) => launchGroups(nodeClassWith(), named(...names), {});
  const [group] = groups('m5.large');
  const specOf = (
    changes: Parameters<typeof nodeClassWith>[0] = {},
    userDataBase64 = 'dXNlcg==',
    capacityType: 'spot' | 'on-demand' = 'on-demand',
    tenancy: 'default' | 'dedicated' = 'default',
  ) => {
    if (group === undefined) throw new Error('no group');
    return launchTemplateFor(
      {
        nodeClass: nodeClassWith(changes),
        group,
        userDataBase64,
        instanceProfileName: 'profile',
        cluster: { name: 'lab', uid: 'uid-1' },
        capacityType,
        tenancy,
      },
      hash,
    );
  };

  test('spot has a template of its own, which tags the spot requests', () => {
    const [spot, onDemand] = [specOf({}, 'dXNlcg==', 'spot'), specOf()];
    expect([spot.forSpot, onDemand.forSpot]).toEqual([true, undefined]);
    expect(spot.name).not.toBe(onDemand.name);
  });

  test('dedicated hosts have a template of their own', () => {
    const [dedicated, shared] = [specOf({}, 'dXNlcg==', 'on-demand', 'dedicated'), specOf()];
    expect([dedicated.tenancy, shared.tenancy]).toEqual(['dedicated', undefined]);
    expect(dedicated.name).not.toBe(shared.name);
  });

  test('types are grouped by image and pods', () =>
    expect(
      groups('m5.large', 'c5.large', 'm5.xlarge', 'm6g.large').map(
        (g) => `${g.ami.id} ${g.maxPods} ${g.instanceTypes.join(' ')}`,
      ),
    ).toEqual(['ami-amd 29 c5.large m5.large', 'ami-amd 58 m5.xlarge', 'ami-arm 29 m6g.large']));

  test('EFA interfaces are made only for pods that ask for them', () => {
    const efas = (requests: Record<string, number>) =>
      launchGroups(nodeClassWith(), named('p4d.24xlarge'), requests).map((g) => g.efaInterfaces);
    expect(efas({})).toEqual([0]);
    expect(efas({ 'vpc.amazonaws.com/efa': 1 })).toEqual([4]);
  });

  test('a template holds what the class says, with the family’s volumes and tags that the class cannot replace', () => {
    expect(specOf({ tags: { team: 'x', 'eks:eks-cluster-name': 'forged' } })).toMatchObject({
      imageId: 'ami-amd',
      instanceProfileName: 'profile',
      securityGroupIds: ['sg-1', 'sg-2'],
      detailedMonitoring: false,
      blockDevices: [
        {
          deviceName: '/dev/xvda',
          ebs: { Encrypted: true, VolumeType: 'gp3', VolumeSize: 20, DeleteOnTermination: true },
        },
      ],
      metadataOptions: {
        HttpEndpoint: 'enabled',
        HttpProtocolIpv6: 'disabled',
        HttpPutResponseHopLimit: 1,
        HttpTokens: 'required',
        InstanceMetadataTags: 'disabled',
      },
      tags: {
        team: 'x',
        'kubernetes.io/cluster/lab': 'owned',
        'eks:eks-cluster-name': 'lab',
        'dovetail.sh/cluster-uid': 'uid-1',
        'karpenter.k8s.aws/ec2nodeclass': 'default',
      },
    });
  });

  test('volume sizes are rounded up to whole GiB', () =>
    expect(
      specOf({
        blockDeviceMappings: [
          { deviceName: '/dev/xvda', rootVolume: true, ebs: { volumeSizeBytes: 20e9 } },
        ],
      }).blockDevices[0]?.ebs,
    ).toEqual({ VolumeSize: 19 }));

  test('equal content has one name; any difference has another', () => {
    const spec = specOf();
    expect(spec.name).toMatch(/^dovetail\/[0-9a-f]{40}$/);
    expect(specOf().name).toBe(spec.name);
    expect(
      new Set([
        spec.name,
        specOf({}, 'b3RoZXI=').name,
        specOf({ detailedMonitoring: true }).name,
        specOf({ tags: { a: 'b' } }).name,
      ]).size,
    ).toBe(4);
  });

  test('an instance carries its pool’s label key', () => {
    const tagsOf = (kind: 'NodePool' | 'Provisioner') =>
      Object.keys(
        instanceTags(nodeClassWith(), { kind, name: 'p' }, { name: 'lab', uid: 'u' }),
      ).filter((key) => !(key in classTags(nodeClassWith(), { name: 'lab', uid: 'u' })));
    expect([tagsOf('NodePool'), tagsOf('Provisioner')]).toEqual([
      ['karpenter.sh/nodepool'],
      ['karpenter.sh/provisioner-name'],
    ]);
  });
});

test('a type boots the image of its architecture and devices, or none', () => {
  const { amis } = nodeClassWith().status;
  const imageOf = (name: string): string | undefined =>
    named(name).map((type) => amiOfType(amis, type)?.id)[0];
  expect(['m5.large', 'm6g.large', 'g4dn.xlarge'].map(imageOf)).toEqual([
    'ami-amd',
    'ami-arm',
    'ami-gpu',
  ]);
  expect(named('m5.large').map((type) => amiOfType([], type))).toEqual([undefined]);
});

test('every type stands in exactly one group, whatever the order of the types', () => {
  const groups = launchGroups(nodeClassWith(), types, {});
  const members = groups.flatMap(({ instanceTypes }) => instanceTypes);
  expect(members.toSorted()).toEqual(types.map(({ name }) => name).toSorted());
  expect(launchGroups(nodeClassWith(), types.toReversed(), {})).toEqual(groups);
});

describe('tags that Dovetail finds its own things by', () => {
  const cluster = { name: 'lab', uid: 'uid-1' };
  const pool = { kind: 'NodePool', name: 'default' } as const;

  test('cannot be replaced by those of a class', () =>
    fc.assert(
      fc.property(
        fc.subarray(Object.keys(instanceTags(nodeClassWith(), pool, cluster))),
        (keys) => {
          const own = Object.fromEntries(keys.map((key) => [key, 'mine']));
          expect(instanceTags(nodeClassWith({ tags: own }), pool, cluster)).toEqual(
            instanceTags(nodeClassWith(), pool, cluster),
          );
        },
      ),
    ));

  test('are on everything that is made for a class, with its own tags beside them', () => {
    const tags = classTags(nodeClassWith({ tags: { team: 'a' } }), cluster);
    expect(tags).toEqual({ team: 'a', ...classTags(nodeClassWith(), cluster) });
    expect(Object.keys(tags)).toHaveLength(5);
  });
});

test('labels and facts of every type of the catalog lead to the same image', () => {
  const amis = (['amd64', 'arm64'] as const).flatMap((arch) =>
    (['standard', 'nvidia', 'neuron'] as const).map((variant) =>
      ami(`${arch} ${variant}`, arch, variant),
    ),
  );
  const different = types.filter((type) => {
    const facts = catalogFacts(type.name);
    return facts === undefined || amiOfType(amis, type) !== amiFor(amis, facts);
  });
  expect(different.map(({ name }) => name)).toEqual([]);
});
