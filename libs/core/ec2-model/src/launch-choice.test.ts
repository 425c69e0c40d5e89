import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { InstanceType } from './instance-type.js';
import { chooseForLaunch } from './launch-choice.js';
import { capacityTypes, named, only, types, wish } from './testing/types.js';

fc.configureGlobal({ seed: 1 });

describe('what a claim is bought as', () => {
  test('on-demand only: the cheapest sixty types that fit, cheapest first, none of them metal or with a GPU', () => {
    const choice = chooseForLaunch(
      types,
      wish({ cpu: 3000, memory: 4 * 1024 ** 3 }, capacityTypes('on-demand')),
    );
    if (!choice.ok) throw new Error(choice.message);
    expect(choice.capacityType).toBe('on-demand');
    expect(choice.types).toHaveLength(60);
    const prices = choice.types.map((type) => type.offerings[0]?.priceMicrosPerHour ?? 0);
    expect(prices).toEqual([...prices].sort((a, b) => a - b));
    expect(
      choice.types.every(
        (type) =>
          (type.allocatable['cpu'] ?? 0) >= 3000 &&
          !type.name.includes('metal') &&
          type.capacity['nvidia.com/gpu'] === undefined,
      ),
    ).toBe(true);
  });

  test('spot comes first where it is allowed, and only what is no dearer than the cheapest on-demand', () => {
    const choice = chooseForLaunch(
      named('m5.large', 'm5.24xlarge'),
      wish({}, capacityTypes('spot', 'on-demand')),
    );
    expect(choice).toMatchObject({ ok: true, capacityType: 'spot' });
    expect(choice.ok ? choice.types.map((type) => type.name) : []).toEqual(['m5.large']);
  });

  test('a GPU is bought when nothing else is left', () => {
    const choice = chooseForLaunch(
      named('m5.large', 'g4dn.xlarge'),
      wish({ 'nvidia.com/gpu': 1 }, capacityTypes('on-demand')),
    );
    expect(choice.ok ? choice.types.map((type) => type.name) : []).toEqual(['g4dn.xlarge']);
  });

  test('a demanded variety keeps what narrowing would drop, and is checked', () => {
    const varied = (minValues: number) =>
      chooseForLaunch(
        named('m5.large', 'g4dn.xlarge'),
        wish({}, capacityTypes('on-demand'), {
          key: 'karpenter.k8s.aws/instance-family',
          operator: 'Exists',
          values: [],
          minValues,
        }),
      );
    expect(varied(2)).toMatchObject({ ok: true });
    expect(varied(3)).toEqual({
      ok: false,
      reason: 'min-values',
      message:
        'karpenter.k8s.aws/instance-family must keep 3 values possible, the 2 cheapest types leave 2',
    });
  });

  test('a claim in one zone has no variety of zones, wherever its types are sold', () => {
    const zones = named('m5.large')[0]?.requirements.get('topology.kubernetes.io/zone')?.values;
    const [zone = '', ...others] = zones ?? [];
    expect(others.length).toBeGreaterThan(0);
    const choice = chooseForLaunch(
      named('m5.large'),
      wish({}, capacityTypes('on-demand'), {
        key: 'topology.kubernetes.io/zone',
        operator: 'In',
        values: [zone],
        minValues: 2,
      }),
    );
    expect(choice).toMatchObject({ ok: false, reason: 'min-values' });
  });

  test.each([
    ['a zone that no subnet is in', wish({}, only('topology.kubernetes.io/zone', 'us-east-1f'))],
    ['more than any type has', wish({ cpu: 9_999_000 })],
    ['a type that is not there', wish({}, only('node.kubernetes.io/instance-type', 'm99.large'))],
  ])('%s finds no offering', (_what, wanted) =>
    expect(chooseForLaunch(types, wanted)).toMatchObject({ ok: false, reason: 'no-offering' }),
  );

  test('the labels of a pool are not the type’s to refuse', () =>
    expect(chooseForLaunch(types, wish({}, only('team', 'a')))).toMatchObject({ ok: true }));
});

describe('the types of one CreateFleet', () => {
  const spot = wish({ cpu: 1000 }, capacityTypes('spot', 'on-demand'));
  const choice = chooseForLaunch(types, spot);
  const chosen = choice.ok ? choice.types : [];

  test('are bought in one way, by offerings that are available', () => {
    const offerings = chosen.flatMap((type) => type.offerings);
    expect(new Set(offerings.map(({ capacityType }) => capacityType))).toEqual(new Set(['spot']));
    expect(offerings.every(({ available }) => available)).toBe(true);
  });

  test('stand by their cheapest offering, and so do the offerings of each', () => {
    const first = chosen.map((type) => type.offerings[0]?.priceMicrosPerHour ?? 0);
    expect(first).toEqual(first.toSorted((a, b) => a - b));
    for (const { offerings } of chosen) {
      const prices = offerings.map(({ priceMicrosPerHour }) => priceMicrosPerHour);
      expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    }
  });

  test('do not depend on the order of the catalog', () =>
    expect(chooseForLaunch(types.toReversed(), spot)).toEqual(choice));

  test('are as many as are asked for at most', () => {
    const three = chooseForLaunch(types, spot, 3);
    expect(three.ok ? three.types : []).toEqual(chosen.slice(0, 3));
  });

  test('may be of one zone alone', () => {
    const zone = 'us-east-1b';
    const one = chooseForLaunch(types, wish({}, only('topology.kubernetes.io/zone', zone)));
    const zones = (one.ok ? one.types : []).flatMap((type) =>
      type.offerings.map((each) => each.zone),
    );
    expect(new Set(zones)).toEqual(new Set([zone]));
  });
});

describe('in any catalog', () => {
  const anyWish = fc.record({
    cpu: fc.integer({ min: 0, max: 200_000 }),
    ways: fc.subarray(['spot', 'on-demand', 'reserved'], { minLength: 1 }),
    zones: fc.subarray(['us-east-1a', 'us-east-1b', 'us-east-1z'], { minLength: 1 }),
    most: fc.integer({ min: 1, max: 60 }),
    from: fc.subarray([...types].slice(0, 120), { minLength: 1 }),
  });

  test('what is chosen fits, is allowed, and can be bought; or there was nothing', () =>
    fc.assert(
      fc.property(anyWish, ({ cpu, ways, zones, most, from }) => {
        const wanted = wish(
          { cpu },
          capacityTypes(...ways),
          only('topology.kubernetes.io/zone', ...zones),
        );
        const mayBuy = (type: InstanceType): boolean =>
          (type.allocatable['cpu'] ?? 0) >= cpu &&
          type.offerings.some(
            ({ zone, capacityType, available }) =>
              available && zones.includes(zone) && ways.includes(capacityType),
          );
        const choice = chooseForLaunch(from, wanted, most);
        expect(choice.ok).toBe(from.some(mayBuy));
        if (!choice.ok) return;
        expect(choice.types.length).toBeLessThanOrEqual(most);
        for (const type of choice.types) {
          expect(mayBuy(type)).toBe(true);
          expect(type.offerings.length).toBeGreaterThan(0);
          for (const { zone, capacityType, available } of type.offerings)
            expect([zones.includes(zone), capacityType, available]).toEqual([
              true,
              choice.capacityType,
              true,
            ]);
        }
      }),
    ));
});
