import { expect, test } from 'vitest';

import { featureGates, warnOfGates } from './feature-gates.js';

test.each([
  ['Repair=true'],
  ['NodeRepair'],
  ['NodeRepair=yes'],
  ['nodeRepair=true'],
  ['NodeRepair=true,'],
  ['constructor=true'],
  ['constructor=false'],
  ['SomethingNew=true'],
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
  expect(featureGates(given).gates).toEqual({
    nodeRepair: on.includes('nodeRepair'),
    spotToSpot: on.includes('spotToSpot'),
  }),
);

test("the value of Karpenter 1.15's chart is taken as it is", () =>
  expect(
    featureGates(
      'ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false,StaticCapacity=false,CapacityBuffer=false,TerminateFirstDrift=false,TerminateFirstRepair=false,PodDeletionCostManagement=false',
    ),
  ).toEqual({
    gates: { nodeRepair: false, spotToSpot: false },
    withoutEffect: ['ReservedCapacity'],
  }));

test('a gate of a later Karpenter is taken if it is off', () =>
  expect(featureGates('SomethingNew=false').withoutEffect).toEqual([]));

test('a gate that is on and does nothing is warned of', () => {
  const lines: string[] = [];
  const quiet = (): void => undefined;
  const warn = (_event: string, message: string): void => void lines.push(message);
  warnOfGates(featureGates('NodeOverlay=true'), { debug: quiet, info: quiet, warn, error: quiet });
  expect(lines).toEqual([expect.stringContaining('switches NodeOverlay on')]);
});
