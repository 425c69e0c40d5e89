import { describe, expect, test } from 'vitest';

import { parseCatalogLine, zoneMaskAt } from './catalog-line.js';

const line =
  'x1.big|a|8|16384|nitro|menoc|os|4|15|2|2|5000|1000|2000|AWS|2500|T4:NVIDIA:2:16384|Inferentia:AWS:1:4|900|38|123456|03-';

describe('a line of the catalog', () => {
  const { facts, priceMicrosPerHour } = parseCatalogLine(line);

  test('is read field by field', () =>
    expect(facts).toEqual({
      name: 'x1.big',
      arch: 'arm64',
      vcpus: 8,
      memoryMib: 16_384,
      hypervisor: 'nitro',
      bareMetal: true,
      burstable: false,
      supportedUsageClasses: ['on-demand', 'spot'],
      network: {
        interfacesMax: 4,
        ipv4PerInterface: 15,
        efaMax: 2,
        encryptionInTransit: true,
        baselineMbps: 5000,
        cards: 2,
      },
      ebs: { optimizedByDefault: true, baselineMbps: 1000, maximumMbps: 2000 },
      cpu: { manufacturer: 'AWS', sustainedClockMhz: 2500 },
      gpus: [{ name: 'T4', manufacturer: 'NVIDIA', count: 2, memoryMib: 16_384 }],
      accelerators: [{ name: 'Inferentia', manufacturer: 'AWS', count: 1, coresPerDevice: 4 }],
      localNvme: true,
      localStorageGb: 900,
      branchInterfaces: 38,
    }));

  test('may have a price', () => expect(priceMicrosPerHour).toBe(123_456));

  test('leaves out what it does not know', () => {
    const unknown = parseCatalogLine('x1.small|x|1|512|xen||o|2|2|0||||||||||||1');
    expect(unknown).not.toHaveProperty('priceMicrosPerHour');
    expect(unknown.facts).toMatchObject({ gpus: [], accelerators: [], cpu: {}, localNvme: false });
    expect(unknown.facts.network).not.toHaveProperty('cards');
  });
});

test.each([
  [0, 0],
  [1, 3],
  [2, 62],
  [3, 0],
])('the zones of region %i have the mask %i, and none behind the end', (region, mask) =>
  expect(zoneMaskAt(parseCatalogLine(line), region)).toBe(mask),
);

test('a line with too few fields is a bug of the generator', () =>
  expect(() => parseCatalogLine('x1.small|x|1')).toThrow('a line of the catalog has 22 fields'));
