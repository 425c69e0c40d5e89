import { expect, test } from 'vitest';

import { claimTemplate } from './claim-object.js';

type Bin = Parameters<typeof claimTemplate>[0];
const zone = 'topology.kubernetes.io/zone';

/** The zone requirement of a claim whose options are in these zones. */
function zonesOf(zones: readonly string[], minValues?: number) {
  const bin: Bin = {
    labels: {},
    taints: [],
    requirements: [
      {
        key: zone,
        operator: 'In',
        values: ['a', 'b', 'c'],
        ...(minValues === undefined ? {} : { minValues }),
      },
    ],
    options: zones.map((name) => ({
      instanceType: 'm5.large',
      zone: name,
      capacityType: 'spot' as const,
      priceMicrosPerHour: 1,
      priceEstimated: false,
    })),
  };
  return claimTemplate(bin, { labels: {}, startupTaints: [] }).requirements.find(
    ({ key }) => key === zone,
  );
}

test.each<[string, readonly string[], number | undefined, object]>([
  ['has no minValues if its pool has none', ['a'], undefined, { values: ['a'] }],
  ['keeps as many as it names', ['a', 'b'], 2, { values: ['a', 'b'], minValues: 2 }],
  ['keeps fewer than it names', ['a', 'b'], 1, { values: ['a', 'b'], minValues: 1 }],
  ['drops more than it names, which the API refuses', ['a'], 3, { values: ['a'] }],
])('a claim %s', (_what, zones, minValues, wanted) =>
  expect(zonesOf(zones, minValues)).toEqual({ key: zone, operator: 'In', ...wanted }),
);
