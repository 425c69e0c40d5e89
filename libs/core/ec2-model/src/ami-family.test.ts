import { describe, expect, test } from 'vitest';

import { blockDevicesOf, familyTraits } from './ami-family.js';

const families = [
  'AL2',
  'AL2023',
  'Bottlerocket',
  'Custom',
  'Windows2019',
  'Windows2022',
  'Windows2025',
] as const;

describe.each(families)('the family %s', (family) => {
  const traits = familyTraits(family);

  test('keeps pods on a device that it maps itself, where it knows one', () => {
    const names = traits.blockDevices.map(({ deviceName }) => deviceName);
    if (traits.ephemeralDevice === undefined) expect(names).toEqual([]);
    else expect(names).toContain(traits.ephemeralDevice);
  });

  test('encrypts its volumes and deletes them with the instance', () => {
    for (const { ebs } of traits.blockDevices)
      expect(ebs).toMatchObject({ encrypted: true, volumeType: 'gp3', deleteOnTermination: true });
  });

  test('names its build of Windows exactly where it is Windows', () =>
    expect(traits.windowsBuild !== undefined).toBe(traits.os === 'windows'));
});

test('Bottlerocket has a root volume of 6 GiB, as large as its newer snapshots', () =>
  expect(familyTraits('Bottlerocket').blockDevices[0]).toMatchObject({
    deviceName: '/dev/xvda',
    ebs: { volumeSizeBytes: 6 * 1024 ** 3 },
  }));

test("a class' own devices replace those of its family", () => {
  const own = [{ deviceName: '/dev/xvda', rootVolume: true }];
  expect(blockDevicesOf({ amiFamily: 'AL2023', blockDeviceMappings: own })).toBe(own);
  expect(blockDevicesOf({ amiFamily: 'AL2023', blockDeviceMappings: [] })).toEqual(
    familyTraits('AL2023').blockDevices,
  );
});
