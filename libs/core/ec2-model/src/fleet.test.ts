import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fleetConfigs, fleetOverridesMax, roomiestSubnets } from './fleet.js';
import { chooseForLaunch } from './launch-choice.js';
import { capacityTypes, named, subnet, types, wish } from './testing/types.js';

fc.configureGlobal({ seed: 1 });

describe('fleet requests', () => {
  test('each type in each zone through the roomiest subnet, by launch template', () => {
    const choice = chooseForLaunch(
      named('m5.large', 'm5.xlarge'),
      wish({}, capacityTypes('on-demand')),
    );
    const configs = fleetConfigs({
      types: choice.ok ? choice.types : [],
      templates: new Map([
        ['m5.large', 'small'],
        ['m5.xlarge', 'large'],
      ]),
      subnets: [
        subnet('s-a1', 'us-east-1a', 5),
        subnet('s-a2', 'us-east-1a', 9),
        subnet('s-b', 'us-east-1b', 1),
      ],
    });
    expect(configs).toEqual([
      {
        launchTemplateName: 'small',
        overrides: [
          { instanceType: 'm5.large', subnetId: 's-a2', zone: 'us-east-1a' },
          { instanceType: 'm5.large', subnetId: 's-b', zone: 'us-east-1b' },
        ],
      },
      {
        launchTemplateName: 'large',
        overrides: [
          { instanceType: 'm5.xlarge', subnetId: 's-a2', zone: 'us-east-1a' },
          { instanceType: 'm5.xlarge', subnetId: 's-b', zone: 'us-east-1b' },
        ],
      },
    ]);
  });
  test('no more overrides than EC2 takes: the dearest are left out', () => {
    const zones = [
      'us-east-1a',
      'us-east-1b',
      'us-east-1c',
      'us-east-1d',
      'us-east-1e',
      'us-east-1f',
    ];
    const many = types
      .slice(0, 60)
      .map((type) => ({
        ...type,
        offerings: zones.map((zone) => ({
          zone,
          capacityType: 'spot' as const,
          priceMicrosPerHour: 1,
          available: true,
          priceEstimated: false,
        })),
      }));
    const configs = fleetConfigs({
      types: many,
      templates: new Map(many.map((type) => [type.name, 't'])),
      subnets: zones.map((zone) => subnet(zone, zone, 1)),
    });
    expect(configs.map((config) => [config.launchTemplateName, config.overrides.length])).toEqual([
      ['t', 300],
    ]);
    expect(configs[0]?.overrides.at(-1)?.instanceType).toBe(many[49]?.name);
  });
  test('equally roomy subnets are taken by id, whatever their order', () => {
    const pair = [subnet('s-2', 'z', 7), subnet('s-1', 'z', 7)];
    expect(
      [roomiestSubnets(pair), roomiestSubnets([...pair].reverse())].map((map) => map.get('z')?.id),
    ).toEqual(['s-1', 's-1']);
  });
});

describe('a fleet request', () => {
  const zones = ['us-east-1a', 'us-east-1b'];
  const subnets = zones.map((zone) => subnet(zone, zone, 1));
  const chosen = named('m5.large', 'm5.xlarge', 'c5.large');

  test('without a subnet or without templates asks for nothing', () => {
    const templates = new Map([['m5.large', 't']]);
    expect(fleetConfigs({ types: chosen, subnets: [], templates })).toEqual([]);
    expect(fleetConfigs({ types: chosen, subnets, templates: new Map() })).toEqual([]);
  });

  test('never asks for more than EC2 takes, nor for one type in one subnet twice per way to buy', () =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (count) => {
        const some = types
          .slice(0, count)
          .map((type) => ({
            ...type,
            offerings: type.offerings.filter(({ capacityType }) => capacityType === 'on-demand'),
          }));
        const templates = new Map(some.map(({ name }) => [name, 't']));
        const overrides = fleetConfigs({ types: some, subnets, templates }).flatMap(
          (config) => config.overrides,
        );
        expect(overrides.length).toBeLessThanOrEqual(fleetOverridesMax);
        const keys = overrides.map(({ instanceType, subnetId }) => `${instanceType} ${subnetId}`);
        expect(new Set(keys).size).toBe(keys.length);
      }),
      { numRuns: 20 },
    ));

  test('uses an exhausted subnet only where there is no other', () =>
    expect(
      roomiestSubnets([subnet('full', 'z', 0), subnet('free', 'z', 1), subnet('only', 'y', 0)]),
    ).toEqual(
      new Map([
        ['z', subnet('free', 'z', 1)],
        ['y', subnet('only', 'y', 0)],
      ]),
    ));
});

test('each override is an offering of its type, in a subnet of that zone, through its template', () => {
  const zones = ['us-east-1a', 'us-east-1b', 'us-east-1c'];
  const anySubnets = fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('s-1', 's-2', 's-3', 's-4'),
      zone: fc.constantFrom(...zones, 'us-east-1z'),
      free: fc.nat({ max: 3 }),
    }),
    { selector: ({ id }) => id },
  );
  const some = types.slice(0, 40);
  fc.assert(
    fc.property(fc.subarray(some), anySubnets, fc.nat({ max: 3 }), (chosen, parts, without) => {
      const subnets = parts.map(({ id, zone, free }) => subnet(id, zone, free));
      const templates = new Map(
        chosen.slice(without).map(({ name }, index) => [name, `template-${index % 3}`]),
      );
      const zoneOf = new Map(subnets.map(({ id, zone }) => [id, zone]));
      const configs = fleetConfigs({ types: chosen, subnets, templates });
      for (const { launchTemplateName, overrides } of configs) {
        expect(overrides.length).toBeGreaterThan(0);
        for (const { instanceType, subnetId, zone } of overrides) {
          const type = chosen.find(({ name }) => name === instanceType);
          expect(zoneOf.get(subnetId)).toBe(zone);
          expect(templates.get(instanceType)).toBe(launchTemplateName);
          expect(type?.offerings.map((offering) => offering.zone)).toContain(zone);
        }
      }
      const names = configs.map(({ launchTemplateName }) => launchTemplateName);
      expect(new Set(names).size).toBe(names.length);
    }),
  );
});
