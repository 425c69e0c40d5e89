import { describe, expect, test } from 'vitest';

import {
  bin,
  found,
  hostKey,
  inZone,
  type Made,
  option,
  pods,
  spread,
  term,
  withPool,
  zoneKey,
} from '../testing/checked.js';
import { gibibytes, nodeOf, offeringOf, podOf, poolOf, typeOf } from '../testing/objects.js';

describe('what nodes hold together', () => {
  const pinned = pods(3, { topologySpread: [spread(zoneKey)] });
  const waiting = pods(2, { requiredPodAffinity: [term(zoneKey)] });
  const lonely = pods(2, { requiredPodAntiAffinity: [term(zoneKey)] });
  const guard = podOf('guard', { phase: 'Running', requiredPodAntiAffinity: [term(zoneKey)] });
  test.each<[string, Made, readonly string[]]>([
    [
      'a zone with two pods more than another',
      { pods: pinned, newNodes: [bin('b', ['p-0', 'p-1', 'p-2']), bin('c', ['x'], inZone('b'))] },
      ['unknown-pod at x', 'topology-spread at b'],
    ],
    [
      'a spread over a zone that is still open',
      {
        pods: pinned.slice(0, 1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.2', 'b')] })],
      },
      ['topology-spread at b'],
    ],
    [
      'fewer zones than minDomains',
      {
        pods: pods(2, { topologySpread: [spread(zoneKey, { minDomains: 2 })] }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
      },
      ['topology-spread at b'],
    ],
    [
      'a full node beside an empty one',
      {
        pods: pods(2, { topologySpread: [spread(hostKey)] }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
        snapshot: { nodes: [nodeOf('n')] },
      },
      ['topology-spread at b'],
    ],
    [
      'two pods of a strict hostname spread',
      {
        pods: pods(2, { topologySpread: [spread(hostKey)] }),
        newNodes: [bin('b', ['p-0', 'p-1'])],
        options: { hostnameSpread: 'strict' },
      },
      ['topology-spread at b'],
    ],
    [
      'pods that want to be together in two zones',
      { pods: waiting, newNodes: [bin('b', ['p-0']), bin('c', ['p-1'], inZone('b'))] },
      ['pod-affinity at b', 'pod-affinity at c'],
    ],
    [
      'a pod without the one that it follows',
      {
        pods: pods(1, { requiredPodAffinity: [term(zoneKey, 'db')] }),
        newNodes: [bin('b', ['p-0'])],
      },
      ['pod-affinity at b'],
    ],
    [
      'pods that must part in one zone',
      { pods: lonely, newNodes: [bin('b', ['p-0']), bin('c', ['p-1'])] },
      ['pod-anti-affinity at c', 'pod-anti-affinity at b'],
    ],
    [
      'a pod beside a running one that must be alone',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'])],
        snapshot: { nodes: [nodeOf('n', { labels: { [zoneKey]: 'a' }, pods: [guard] })] },
      },
      ['pod-anti-affinity at b'],
    ],
    [
      'more than the limit, at the largest option',
      {
        pods: pods(1),
        newNodes: [bin('b', ['p-0'], { options: [option('m.2', 'a'), option('m.4', 'a')] })],
        snapshot: withPool({ limits: { cpu: 3000 } }),
      },
      ['pool-limit at NodePool/default'],
    ],
    [
      'one node too many',
      {
        pods: pods(2),
        newNodes: [bin('b', ['p-0']), bin('c', ['p-1'])],
        snapshot: withPool({ limits: { nodes: 1 } }),
      },
      ['pool-limit at NodePool/default'],
    ],
  ])('%s', (_, made, expected) => expect(found(made)).toEqual(expected));
  test('more nodes of a reservation than it has left', () => {
    const reserved = typeOf({
      name: 'm.2',
      cpuMillis: 2000,
      memoryBytes: gibibytes(8),
      offerings: [offeringOf('a', 'reserved', 0, { reservation: { id: 'cr', remaining: 1 } })],
    });
    const options = [
      option('m.2', 'a', { capacityType: 'reserved', priceMicrosPerHour: 0, reservationId: 'cr' }),
    ];
    expect(
      found({
        pods: pods(2),
        newNodes: [bin('b', ['p-0'], { options }), bin('c', ['p-1'], { options })],
        snapshot: { pools: [{ pool: poolOf('default'), instanceTypes: [reserved] }] },
      }),
    ).toEqual(['reserved-capacity at cr']);
  });
});
