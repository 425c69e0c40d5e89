import { expect, test } from '@jest/globals';

import { featureGates } from './feature-gates.js';

test.each([
  ['Repair=true'],
  ['NodeRepair'],
  ['NodeRepair=yes'],
  ['nodeRepair=true'],
  ['NodeRepair=true,'],
  ['constructor=true'],
])('%s is refused with the names that exist', (given) =>
  expect(() => featureGates(given)).toThrow(
    /give Name=true or Name=false.*CapacityBuffer, NodeOverlay, NodeRepair/,
  ),
);

test.each([
  ['NodeRepair=true', true],
  ['NodeRepair=false', false],
  ['SpotToSpotConsolidation=true', false],
  ['ReservedCapacity=true, NodeRepair=true, StaticCapacity=false', true],
  ['NodeRepair=true,NodeRepair=false', false],
])('%s repairs nodes: %j', (given, nodeRepair) =>
  expect(featureGates(given)).toEqual({ nodeRepair }),
);
