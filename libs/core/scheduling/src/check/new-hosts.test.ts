import { at } from '@dovetail/core-invariant';
import type { RequirementSpec } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { BinOption, NewNode } from '../plan.js';
import { gibibytes, offeringOf, podsOf, poolOf, typeOf } from '../testing/objects.js';
import type { Host, Labels } from './hosts.js';
import { newHosts } from './new-hosts.js';

const zoneKey = 'topology.kubernetes.io/zone';
const typeKey = 'node.kubernetes.io/instance-type';
const capacityKey = 'karpenter.sh/capacity-type';

/** A type with offerings of each capacity type. */
const mixed = typeOf({
  name: 'm.2',
  cpuMillis: 2000,
  memoryBytes: gibibytes(8),
  labels: { family: 'm' },
  offerings: [
    offeringOf('a', 'on-demand', 100, { zoneId: 'id-a' }),
    offeringOf('b', 'on-demand', 100),
    offeringOf('b', 'spot', 40),
    offeringOf('b', 'reserved', 0, { reservation: { id: 'cr-1', remaining: 1 } }),
  ],
});
/** A pool of that type, whose nodes are `fast` or `slow`, as their launch decides. */
const pool = {
  pool: poolOf('default', { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] }),
  instanceTypes: [
    {
      ...mixed,
      requirements: new Map([
        ...mixed.requirements,
        ['speed', { kind: 'in' as const, values: new Set(['fast', 'slow']), present: true }],
      ]),
    },
  ],
};
const optionOf = (zone: string, over: Partial<BinOption> = {}): BinOption => ({
  instanceType: 'm.2',
  zone,
  capacityType: 'on-demand',
  priceMicrosPerHour: 100,
  ...over,
});
const binOf = (options: readonly BinOption[], over: Partial<NewNode> = {}): NewNode => ({
  id: 'bin-0',
  pool: { kind: 'NodePool', name: 'default' },
  options,
  requirements: [],
  labels: {},
  taints: [],
  requests: {},
  podUids: [],
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
  ...over,
});
const hostsFor = (...bins: readonly NewNode[]): readonly Host[] =>
  newHosts({ pools: [pool] }, bins, () => []);
const variantsFor = (bin: NewNode): Host['blueprint']['variants'] =>
  at(hostsFor(bin), 0).blueprint.variants;
const labelsFor = (over: Partial<NewNode>): Labels =>
  at(variantsFor(binOf([optionOf('a')], over)), 0).labels;

describe('a new node', () => {
  test('has the name of its bin, the taints of its pool and the pods planned there', () => {
    const [first, second] = [binOf([optionOf('a')]), binOf([], { id: 'bin-1' })];
    const pods = podsOf('p', 2);
    const hosts = newHosts({ pools: [pool] }, [first, second], (bin) =>
      bin.id === 'bin-1' ? pods : [],
    );
    expect(hosts.map(({ name, planned, running }) => [name, planned, running])).toEqual([
      ['bin-0', [], []],
      ['bin-1', pods, []],
    ]);
    expect(hosts.map(({ bin }) => bin)).toEqual([first, second]);
    expect(at(hosts, 0).taints).toEqual(pool.pool.taints);
  });

  test('of an unknown pool has its own taints and no form', () => {
    const taints = [{ key: 'own', effect: 'NoExecute' as const }];
    const [host] = hostsFor(
      binOf([optionOf('a')], { pool: { kind: 'NodePool', name: 'gone' }, taints }),
    );
    expect(host?.taints).toEqual(taints);
    expect(host?.blueprint.variants).toEqual([]);
  });

  test.each<[string, BinOption, boolean]>([
    ['that is sold', optionOf('a'), true],
    ['of an unknown type', optionOf('a', { instanceType: 'x.2' }), false],
    ['in a zone where the type is not sold', optionOf('c'), false],
    ['of a capacity type that is not sold there', optionOf('a', { capacityType: 'spot' }), false],
    [
      'in its reservation',
      optionOf('b', { capacityType: 'reserved', reservationId: 'cr-1' }),
      true,
    ],
    [
      'in another reservation',
      optionOf('b', { capacityType: 'reserved', reservationId: 'cr-2' }),
      false,
    ],
    ['in no reservation where one is needed', optionOf('b', { capacityType: 'reserved' }), false],
  ])('knows whether it can take the form of an option %s', (_what, option, sold) =>
    expect(variantsFor(binOf([option])).map((variant) => variant.option?.of)).toEqual(
      sold ? [option] : [],
    ),
  );
});

describe('the labels of a new node', () => {
  test('are those of its type, offering, pool, claim and registration', () => {
    expect(labelsFor({ labels: { team: 'blue' } })).toMatchObject({
      'kubernetes.io/hostname': '(a new node)',
      [typeKey]: 'm.2',
      [zoneKey]: 'a',
      [capacityKey]: 'on-demand',
      'topology.k8s.aws/zone-id': 'id-a',
      'karpenter.sh/nodepool': 'default',
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
      family: 'm',
      team: 'blue',
    });
  });

  const asks = (key: string, operator: RequirementSpec['operator'], ...values: string[]) => ({
    requirements: [{ key, operator, values }],
  });
  test.each<[string, Partial<NewNode>, string, string | undefined]>([
    ['leave open what the launch decides', {}, 'speed', undefined],
    ['are decided by the claim', asks('speed', 'In', 'fast'), 'speed', 'fast'],
    ['are decided by what the claim excludes', asks('speed', 'NotIn', 'fast'), 'speed', 'slow'],
    ['stay open among several', asks('speed', 'In', 'fast', 'slow'), 'speed', undefined],
    ['lack what the claim rules out', asks('family', 'In', 'c'), 'family', undefined],
    ['keep what the claim admits', asks('family', 'In', 'c', 'm'), 'family', 'm'],
    ['are those of the claim before the type', { labels: { family: 'x' } }, 'family', 'x'],
    ['name the true type, whatever the claim says', { labels: { [typeKey]: 'x' } }, typeKey, 'm.2'],
    [
      'have their canonical names',
      { labels: { 'beta.kubernetes.io/arch': 'arm64' } },
      'kubernetes.io/arch',
      'arm64',
    ],
  ])('%s', (_what, over, key, value) => expect(labelsFor(over)[key]).toBe(value));
});

describe('blueprints', () => {
  const options = [optionOf('a'), optionOf('b')];
  const bin = binOf(options);
  test.each<[string, NewNode, boolean]>([
    ['are shared by bins that differ in their pods', { ...bin, id: 'bin-1', podUids: ['p'] }, true],
    ['differ with the options', { ...bin, options: [...options] }, false],
    ['differ with the requirements', { ...bin, requirements: [] }, false],
    ['differ with the labels', { ...bin, labels: {} }, false],
    ['differ with the pool', { ...bin, pool: { kind: 'NodePool', name: 'gone' } }, false],
  ])('%s', (_what, other, shared) => {
    const [one, two] = hostsFor(bin, other);
    expect(one?.blueprint === two?.blueprint).toBe(shared);
  });
});

test('a new node has one form for each option that is sold, in the place of that option', () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          zone: fc.constantFrom('a', 'b', 'c'),
          capacityType: fc.constantFrom('on-demand' as const, 'spot' as const),
        }),
      ),
      (places) => {
        const sold = new Set(['a on-demand', 'b on-demand', 'b spot']);
        const placed = variantsFor(binOf(places.map(({ zone, ...over }) => optionOf(zone, over))));
        expect(
          placed.map(({ labels }) => `${labels[zoneKey] ?? ''} ${labels[capacityKey] ?? ''}`),
        ).toEqual(
          places
            .map(({ zone, capacityType }) => `${zone} ${capacityType}`)
            .filter((place) => sold.has(place)),
        );
      },
    ),
    { seed: 1 },
  ));
