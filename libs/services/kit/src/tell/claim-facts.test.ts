import { annotations, labels, type NodeClaim, nodeClaimOf } from '@dovetail/core-api';
import { describe, expect, test } from 'vitest';

import { claimFacts } from './claim-facts.js';

function claimWith(parts: { readonly metadata?: object; readonly status?: object }): NodeClaim {
  const read = nodeClaimOf({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: 'c',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-11-22T00:00:00Z',
      ...parts.metadata,
      labels: {
        'karpenter.sh/nodepool': 'default',
        ...(parts.metadata as { readonly labels?: object } | undefined)?.labels,
      },
    },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [],
    },
    status: parts.status ?? {},
  });
  if (!read.ok) throw new Error(`${read.field}: ${read.value}`);
  return read.value;
}
const base = {
  pool: { kind: 'NodePool', name: 'default' },
  claimName: 'c',
  objects: [{ kind: 'NodeClaim', name: 'c', uid: 'u' }],
};

describe('the facts of a claim', () => {
  test.each<[string, Parameters<typeof claimWith>[0], object]>([
    ['that was just made are its name and pool', {}, base],
    [
      'that was launched are its instance, type, zone, way of buying and price',
      {
        metadata: {
          annotations: { [annotations.pricePerHour]: '0.096' },
          labels: {
            [labels.instanceType]: 'm5.large',
            [labels.zone]: 'us-west-2a',
            [labels.capacityType]: 'spot',
          },
        },
        status: { providerID: 'aws:///us-west-2a/i-0abc' },
      },
      {
        ...base,
        instanceId: 'i-0abc',
        instanceType: 'm5.large',
        zone: 'us-west-2a',
        capacityType: 'spot',
        priceMicrosPerHour: 96_000,
        priceEstimated: false,
      },
    ],
    [
      'whose node has joined name the node',
      { status: { nodeName: 'n' } },
      { ...base, objects: [...base.objects, { kind: 'Node', name: 'n' }] },
    ],
    [
      'with an unknown capacity type leave it out',
      { metadata: { labels: { [labels.capacityType]: 'lottery' } } },
      base,
    ],
  ])('%s', (_what, parts, expected) => {
    expect(claimFacts(claimWith(parts))).toEqual(expected);
  });

  test('have the price of now where it is known, and that of the launch else', () => {
    const launched = claimWith({
      metadata: { annotations: { [annotations.pricePerHour]: '~0.096' } },
    });
    expect([
      claimFacts(launched, { priceMicrosPerHour: 50_000, priceEstimated: false }),
      claimFacts(launched),
    ]).toMatchObject([
      { priceMicrosPerHour: 50_000, priceEstimated: false },
      { priceMicrosPerHour: 96_000, priceEstimated: true },
    ]);
  });
});
