import { isQualifiedName, labels, restrictedLabel } from '@dovetail/core-api';
import { admits, admitsAbsence } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { catalogFacts, catalogFor } from './catalog.js';
import { factLabels, instanceLabels, wellKnownLabels } from './labels.js';

const labelOf = (name: string, key: string): string | undefined => {
  const facts = catalogFacts(name);
  const set = facts === undefined ? undefined : factLabels(facts, 'AL2023').get(key);
  return set === undefined ? undefined : [...set.values][0];
};

describe('the labels of a type', () => {
  test.each([
    ['m5.large', instanceLabels.category, 'm'],
    ['m5.large', instanceLabels.generation, '5'],
    ['m5.large', instanceLabels.family, 'm5'],
    ['m5.large', instanceLabels.size, 'large'],
    ['m7i-flex.large', instanceLabels.flex, 'true'],
    ['u-6tb1.56xlarge', instanceLabels.generation, '1'],
    ['g4dn.xlarge', instanceLabels.gpuName, 't4'],
    ['m5.large', instanceLabels.gpuName, undefined],
    ['m5.large', labels.os, 'linux'],
  ])('%s has %s %p', (name, key, value) => expect(labelOf(name, key)).toBe(value));

  test('that it does not have demand absence', () => {
    const facts = catalogFacts('m5.large');
    const gpus =
      facts === undefined ? undefined : factLabels(facts, 'AL2023').get(instanceLabels.gpuCount);
    expect(gpus !== undefined && admitsAbsence(gpus) && !admits(gpus, '1')).toBe(true);
  });

  test('have one value at most, for every type of the catalog', () => {
    for (const { facts } of catalogFor('us-east-1'))
      for (const set of factLabels(facts, 'AL2023').values())
        expect(set.kind === 'in' && set.values.size <= 1).toBe(true);
  });

  test('are made once for each type and family, because classes ask at each change', () => {
    const facts = catalogFacts('m5.large');
    if (facts === undefined) throw new Error('m5.large is in the catalog');
    expect(factLabels(facts, 'AL2023')).toBe(factLabels(facts, 'AL2023'));
    expect(factLabels(facts, 'Windows2022').get(labels.os)?.values).toEqual(new Set(['windows']));
  });
});

test.each([...wellKnownLabels])('%s is a label that a pool may require', (key) =>
  expect([isQualifiedName(key), restrictedLabel(key)]).toEqual([true, undefined]),
);

// karpenter.k8s.aws/ labels in WellKnownLabels of karpenter-provider-aws v1.14.0, pkg/apis/v1.
const karpenters = [
  'capacity-reservation-id',
  'capacity-reservation-interruptible',
  'capacity-reservation-type',
  'instance-accelerator-count',
  'instance-accelerator-manufacturer',
  'instance-accelerator-name',
  'instance-capability-flex',
  'instance-category',
  'instance-cpu',
  'instance-cpu-manufacturer',
  'instance-cpu-sustained-clock-speed-mhz',
  'instance-ebs-bandwidth',
  'instance-encryption-in-transit-supported',
  'instance-family',
  'instance-generation',
  'instance-gpu-count',
  'instance-gpu-manufacturer',
  'instance-gpu-memory',
  'instance-gpu-name',
  'instance-hypervisor',
  'instance-local-nvme',
  'instance-memory',
  'instance-network-bandwidth',
  'instance-size',
  'instance-tenancy',
  'placement-group-id',
  'placement-group-partition',
].map((name) => `karpenter.k8s.aws/${name}`);

test.each(karpenters)('%s of Karpenter 1.14 is known, and every type says its value', (key) => {
  expect(wellKnownLabels.has(key)).toBe(true);
  for (const { facts } of catalogFor('us-east-1'))
    expect(factLabels(facts, 'AL2023').has(key)).toBe(true);
});

test.each([
  ['instance-gpu-name', 'radeon-pro-v520'],
  ['instance-gpu-manufacturer', 'amd'],
  ['instance-gpu-memory', '8192'],
  ['instance-local-nvme', '150'],
  ['instance-ebs-bandwidth', '3170'],
  ['instance-network-bandwidth', '2000'],
  ['instance-cpu-sustained-clock-speed-mhz', '3000'],
])('g4ad.xlarge has the documented %s %s', (name, value) =>
  expect(labelOf('g4ad.xlarge', `karpenter.k8s.aws/${name}`)).toBe(value),
);
