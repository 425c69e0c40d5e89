import { expect, test } from 'vitest';

import { measuredResources } from './measured-resources.js';

test.each([
  [{ cpu: 1_500 }, ['cpu', 1.5]],
  [{ memory: 1_024 }, ['memory', 1_024]],
  [{ 'ephemeral-storage': 7 }, ['ephemeral_storage', 7]],
  [{ 'nvidia.com/gpu': 1 }, ['nvidia.com/gpu', 1]],
] as const)('%j is measured as %j', (resources, measured) =>
  expect(measuredResources(resources)).toEqual([measured]),
);

test('no resources are no amounts', () => expect(measuredResources({})).toEqual([]));
