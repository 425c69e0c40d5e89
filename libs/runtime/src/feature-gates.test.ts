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

test.each<[string, readonly string[]]>([
  ['NodeRepair=true', ['nodeRepair']],
  ['NodeRepair=false', []],
  ['SpotToSpotConsolidation=true', ['spotToSpot']],
  ['ReservedCapacity=true, NodeRepair=true, StaticCapacity=false', ['nodeRepair']],
  ['NodeRepair=true,NodeRepair=false', []],
])('%s switches on %j', (given, on) =>
  expect(featureGates(given)).toEqual({
    nodeRepair: on.includes('nodeRepair'),
    spotToSpot: on.includes('spotToSpot'),
  }),
);
