import type { Pod } from '@dovetail/core-kube-model';
import { requirementsOf } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { daemonSetOf, gibibytes, offeringOf, podOf, typeOf } from '../testing/objects.js';
import { daemonsOf } from './daemons.js';
import { dimensionsOf } from './dimensions.js';
import { admitsOffering, dependOnPlace, TypeRooms } from './type-rooms.js';

const zoneKey = 'topology.kubernetes.io/zone';
const capacityKey = 'karpenter.sh/capacity-type';
const cores = (count: number) => ({ requests: { cpu: count * 1000, memory: 1 } });
const [inA, inB, spotInB] = [
  offeringOf('a', 'on-demand', 10),
  offeringOf('b', 'on-demand', 10),
  offeringOf('b', 'spot', 5),
] as const;
const type = typeOf({
  name: 't',
  cpuMillis: 4000,
  memoryBytes: gibibytes(8),
  offerings: [inA, inB, spotInB],
});
const dimensions = dimensionsOf([podOf('p')], []);
const daemonsFor = (...pods: readonly Partial<Pod>[]) =>
  daemonsOf(
    pods.map((over, index) => daemonSetOf(`d${index}`, over)),
    dimensions,
  );
/** The cores that daemonsets leave on each offering of the type; undefined if they do not fit. */
function left(byPlace: boolean, ...pods: readonly Partial<Pod>[]) {
  const { roomAs } = new TypeRooms(daemonsFor(...pods), { dimensions, byPlace }).of(type);
  return type.offerings.map((offering) => roomAs(offering)?.room[0]);
}

describe('the room of a type', () => {
  const zoneA = { ...cores(1), nodeSelector: { [zoneKey]: 'a' } };
  const spot = { ...cores(2), nodeSelector: { [capacityKey]: 'spot' } };
  const large = { ...cores(9), nodeSelector: { [zoneKey]: 'a' } };
  test.each<[string, ReturnType<typeof left>, ReturnType<typeof left>]>([
    ['is all of it without daemonsets', left(true), [4000, 4000, 4000]],
    ['leaves out a daemonset of its zone only there', left(true, zoneA), [3000, 4000, 4000]],
    ['leaves out several where they meet', left(true, zoneA, spot), [3000, 4000, 2000]],
    ['is none where daemonsets alone do not fit', left(true, large), [undefined, 4000, 4000]],
    ['leaves out a daemonset everywhere otherwise', left(false, zoneA), [3000, 3000, 3000]],
  ])('%s', (_, found, expected) => expect(found).toEqual(expected));

  test('is one for all places that run the same daemonsets', () => {
    const daemons = daemonsFor(zoneA);
    const { roomAs } = new TypeRooms(daemons, { dimensions, byPlace: true }).of(type);
    expect(roomAs(inB)).toBe(roomAs(spotInB));
    expect(roomAs(inA)).not.toBe(roomAs(inB));
  });
});

test.each<[string, Partial<Pod>, boolean]>([
  ['asks for nothing', {}, false],
  ['asks for a type', { nodeSelector: { 'node.kubernetes.io/instance-type': 't' } }, false],
  ['asks for a zone', { nodeSelector: { [zoneKey]: 'a' } }, true],
  [
    'asks for a zone by an old label',
    { nodeSelector: { 'topology.ebs.csi.aws.com/zone': 'a' } },
    true,
  ],
  ['asks for a capacity type', { nodeSelector: { [capacityKey]: 'spot' } }, true],
])('whether a daemonset depends on the place: it %s', (_, over, expected) =>
  expect(dependOnPlace(daemonsFor(over))).toBe(expected),
);

test.each<[string, string, readonly string[], boolean]>([
  ['its zone', zoneKey, ['b', 'c'], true],
  ['other zones', zoneKey, ['a'], false],
  ['its capacity type', capacityKey, ['spot'], true],
  ['other capacity types', capacityKey, ['on-demand'], false],
  ['other keys', 'team', ['x'], true],
])('an offering is admitted or not by %s', (_, key, values, expected) =>
  expect(admitsOffering(requirementsOf([{ key, operator: 'In', values }]), spotInB)).toBe(expected),
);
