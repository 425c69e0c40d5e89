import { describe, expect, test } from 'vitest';

import { catalogFacts, catalogFor, catalogRegions, catalogZones } from './index.js';

const inRegion = (region: string, name: string) =>
  catalogFor(region).find(({ facts }) => facts.name === name);

describe('the catalog of instance types', () => {
  test('knows thirty regions and over 1,300 types of us-east-1', () => {
    expect(catalogRegions()).toHaveLength(30);
    expect(catalogFor('us-east-1').length).toBeGreaterThan(1300);
  });

  test.each([
    // type, architecture, vCPU, MiB, interfaces, addresses, zones, price
    ['m5.large', 'amd64', 2, 8192, 3, 10, 'abcdf', 96_000],
    ['c7gd.metal', 'arm64', 64, 131072, 15, 50, undefined, 2_903_000],
    ['a1.medium', 'arm64', 1, 2048, 2, 4, undefined, 25_500],
  ])(
    '%s is %s with %i vCPU and %i MiB in us-east-1',
    (name, arch, vcpus, memoryMib, interfaces, addresses, zones, price) => {
      const entry = inRegion('us-east-1', name);
      expect(entry?.facts).toMatchObject({
        name,
        arch,
        vcpus,
        memoryMib,
        network: { interfacesMax: interfaces, ipv4PerInterface: addresses },
      });
      if (zones !== undefined)
        expect(entry?.zones).toEqual([...zones].map((letter) => `us-east-1${letter}`));
      expect(entry?.onDemandPriceMicrosPerHour).toBe(price);
      expect(entry?.estimated).toBe(false);
    },
  );

  test('a type with several network cards counts the interfaces of its default card only', () => {
    expect(catalogFacts('p4d.24xlarge')?.network).toEqual({
      interfacesMax: 15,
      ipv4PerInterface: 50,
      efaMax: 4,
      encryptionInTransit: true,
      baselineMbps: 400_000,
      cards: 4,
    });
  });

  test('GPUs, Neuron devices and local storage are read', () => {
    expect(catalogFacts('p4d.24xlarge')).toMatchObject({
      gpus: [{ name: 'A100', manufacturer: 'NVIDIA', count: 8, memoryMib: 40960 }],
      localStorageGb: 8000,
      localNvme: true,
    });
    expect(catalogFacts('inf1.24xlarge')?.accelerators).toEqual([
      { name: 'Inferentia', manufacturer: 'AWS', count: 16, coresPerDevice: 4 },
    ]);
  });

  test('every entry is complete: positive sizes, at least one zone of its region, an integer price where there is one', () => {
    for (const region of catalogRegions()) {
      const zones = new Set(catalogZones(region).map((zone) => zone.name));
      for (const { facts, zones: offered, onDemandPriceMicrosPerHour: price } of catalogFor(
        region,
      )) {
        const sizes = [
          facts.vcpus,
          facts.memoryMib,
          facts.network.interfacesMax,
          facts.network.ipv4PerInterface,
          price ?? 1,
        ];
        if (!sizes.every((size) => Number.isInteger(size) && size > 0))
          throw new Error(`${region} ${facts.name}: ${sizes.join(' ')}`);
        if (offered.length === 0 || !offered.every((zone) => zones.has(zone)))
          throw new Error(`${region} ${facts.name}: ${offered.join(' ')}`);
      }
    }
  });

  test('prices outside us-east-1 are marked estimated', () => {
    expect(inRegion('eu-north-1', 'm5.large')).toMatchObject({
      onDemandPriceMicrosPerHour: 96_000,
      estimated: true,
    });
  });

  test('a type without a public price has none, rather than zero', () => {
    expect(inRegion('us-east-1', 'trn2.3xlarge') ?? {}).not.toHaveProperty(
      'onDemandPriceMicrosPerHour',
    );
  });

  test('zones carry ids, each once', () => {
    const ids = catalogZones('us-east-1').map((zone) => zone.id);
    expect([...ids].sort()).toEqual([
      'use1-az1',
      'use1-az2',
      'use1-az3',
      'use1-az4',
      'use1-az5',
      'use1-az6',
    ]);
  });

  test('an unknown region is refused by name', () => {
    expect(() => catalogFor('mars-1')).toThrow(
      /region "mars-1" is not in the catalog; it knows af-south-1/,
    );
  });
});
