import { type Pod, toSpecs } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { Snapshot } from '../snapshot.js';
import { podOf, snapshotOf } from '../testing/objects.js';
import { boundTo, claimOf, inZones, storageClassOf, volumeOf } from '../testing/storage.js';
import { attachmentsOf, volumeDemandOf, volumeIndexOf } from './volumes.js';

const ebs = 'ebs.csi.aws.com';
const mounting = (...claims: readonly string[]): Partial<Pod> => ({
  volumes: claims.map((claimName) => ({ claimName })),
});
const ephemeral = (storageClassName?: string): Partial<Pod> => ({
  volumes: [
    { claimName: 'own', ephemeral: storageClassName === undefined ? {} : { storageClassName } },
  ],
});

const snapshot = snapshotOf({
  persistentVolumes: [
    volumeOf('anywhere'),
    volumeOf('in-a', { nodeAffinity: [inZones('a')] }),
    volumeOf('in-a-or-b', { nodeAffinity: [inZones('a'), inZones('b')] }),
    volumeOf('in-c', { nodeAffinity: [inZones('c')] }),
    volumeOf('going', { deletionMs: 1 }),
    {
      uid: 'pv-disk',
      name: 'disk',
      resourceVersion: '1',
      local: true,
      nodeAffinity: [
        {
          matchExpressions: [
            { key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] },
            ...inZones('a').matchExpressions,
          ],
          matchFields: [],
        },
      ],
    },
  ],
  persistentVolumeClaims: [
    claimOf('anywhere', boundTo('anywhere')),
    claimOf('in-a', boundTo('in-a')),
    claimOf('in-a-or-b', boundTo('in-a-or-b')),
    claimOf('in-c', boundTo('in-c')),
    claimOf('disk', boundTo('disk')),
    claimOf('half-bound', boundTo('in-a', { bindCompleted: false })),
    claimOf('volume-gone', boundTo('gone')),
    claimOf('volume-going', boundTo('going')),
    claimOf('going', { deletionMs: 1 }),
    claimOf('lost', { phase: 'Lost' }),
    claimOf('waits', { storageClassName: 'zonal' }),
    claimOf('by-default'),
    claimOf('class-less', { storageClassName: '' }),
    claimOf('immediate', { storageClassName: 'immediate' }),
    claimOf('no-such-class', { storageClassName: 'nowhere' }),
  ],
  storageClasses: [
    storageClassOf('zonal', { allowedTopologies: [inZones('a', 'b')] }),
    storageClassOf('immediate', { bindingMode: 'Immediate' }),
    storageClassOf('older', { isDefault: true, createdMs: 1, provisioner: 'older' }),
    storageClassOf('newer', { isDefault: true, createdMs: 2, provisioner: 'newer' }),
  ],
});
const index = volumeIndexOf(snapshot);

/** Alternatives as lists of `key value,value`. */
function alternativesOf(pod: Partial<Pod>): readonly (readonly string[])[] {
  const demand = volumeDemandOf(podOf('p', pod), index);
  if ('code' in demand) throw new Error(demand.message);
  return demand.alternatives.map(({ requirements }) =>
    toSpecs(requirements).map(({ key, values }) => `${key} ${values.join(',')}`),
  );
}
const zone = 'topology.kubernetes.io/zone';

describe('where the volumes of a pod let it go', () => {
  test.each<[string, Partial<Pod>, readonly (readonly string[])[]]>([
    ['anywhere, without volumes', {}, [[]]],
    ['anywhere, with one that is reachable from everywhere', mounting('anywhere'), [[]]],
    ['where the volume is', mounting('in-a'), [[`${zone} a`]]],
    ['to either of two zones', mounting('in-a-or-b'), [[`${zone} a`], [`${zone} b`]]],
    ['where both volumes are', mounting('in-a-or-b', 'in-a'), [[`${zone} a`]]],
    ['where its class makes volumes', mounting('waits'), [[`${zone} a,b`]]],
    ['where its ephemeral class makes volumes', ephemeral('zonal'), [[`${zone} a,b`]]],
    [
      'where the volume is, if one term of its affinity allows that',
      { ...mounting('in-a'), requiredNodeAffinity: [inZones('b'), inZones('a')] },
      [[`${zone} a`]],
    ],
    ['where a local volume is, but to any host there', mounting('disk'), [[`${zone} a`]]],
  ])('%s', (_what, pod, alternatives) => {
    expect(alternativesOf(pod)).toEqual(alternatives);
  });
});

describe('what the volumes of a pod attach', () => {
  const attached = (pod: Partial<Pod>) => {
    const demand = volumeDemandOf(podOf('p', pod), index);
    return 'code' in demand ? demand.message : demand.attachments;
  };
  test.each<[string, Partial<Pod>, readonly unknown[]]>([
    ['nothing without volumes', {}, []],
    ['a bound volume by its name', mounting('in-a'), [{ driver: ebs, id: 'in-a' }]],
    ['nothing for a volume without a driver', mounting('disk'), []],
    ['an unbound one by its claim', mounting('waits'), [{ driver: ebs, id: 'default/waits' }]],
    ['an ephemeral one without a name', ephemeral('zonal'), [{ driver: ebs }]],
    [
      'one of the newest default class, where the claim names none',
      mounting('by-default'),
      [{ driver: 'newer', id: 'default/by-default' }],
    ],
  ])('is %s', (_what, pod, attachments) => {
    expect(attached(pod)).toEqual(attachments);
    expect(attachmentsOf(podOf('p', pod), index)).toEqual(attachments);
  });

  test('leaves out what cannot be resolved, for a pod that runs', () => {
    expect(attachmentsOf(podOf('p', mounting('lost', 'in-a', 'missing')), index)).toEqual([
      { driver: ebs, id: 'in-a' },
    ]);
  });
});

describe('a pod cannot be planned', () => {
  test.each<[string, Partial<Pod>, string]>([
    ['whose claim does not exist', mounting('missing'), 'does not exist; create it'],
    [
      'of another namespace than its claim',
      { ...mounting('in-a'), namespace: 'x' },
      'claim x/in-a',
    ],
    ['whose claim is being deleted', mounting('going'), 'claim default/going is being deleted'],
    ['whose claim has lost its volume', mounting('lost'), 'has lost its volume'],
    ['whose claim is not bound completely', mounting('half-bound'), 'binding is not complete'],
    ['whose volume does not exist', mounting('volume-gone'), 'volume gone, which does not exist'],
    ['whose volume is being deleted', mounting('volume-going'), 'volume going of claim'],
    ['whose claim binds at once', mounting('immediate'), 'binds immediately'],
    ['whose class does not exist', mounting('no-such-class'), 'storage class nowhere'],
    ['whose class is the empty text', mounting('class-less'), 'empty storage class'],
    [
      'whose volumes exclude each other',
      mounting('in-a-or-b', 'in-c'),
      `(claim default/in-a-or-b: ${zone} In [a], or ${zone} In [b]; claim default/in-c: ${zone} In [c])`,
    ],
    [
      'whose selector excludes the place of its volume',
      { ...mounting('in-a'), nodeSelector: { [zone]: 'b' } },
      `exclude the places of its volumes (claim default/in-a: ${zone} In [a])`,
    ],
    [
      'whose affinity excludes the place of its volume',
      { ...mounting('in-a'), requiredNodeAffinity: [inZones('b'), inZones('c')] },
      'exclude the places',
    ],
    ['whose second claim is the broken one', mounting('in-a', 'lost'), 'has lost its volume'],
  ])('%s', (_what, pod, message) => {
    expect(volumeDemandOf(podOf('p', pod), index)).toMatchObject({
      code: 'volume',
      message: expect.stringContaining(message),
    });
  });

  test('whose claim names no class where none is the default', () => {
    const without: Snapshot = { ...snapshot, storageClasses: [storageClassOf('zonal')] };
    expect(
      volumeDemandOf(podOf('p', mounting('by-default')), volumeIndexOf(without)),
    ).toMatchObject({ code: 'volume', message: expect.stringContaining('no default class') });
  });
});
