import { describe, expect, test } from 'vitest';

import { type Case, planned } from './testing/planner-cases.js';

describe('a spread uses room on nodes that exist before it buys nodes', () => {
  test.each<Case>([
    [
      'spread-with-room-in-one-zone',
      'an idle node in zone a takes two of four pods: the second becomes legal once zones b and c have one each',
      ['$0.0800 c-2x in b: p2', '$0.0800 c-2x in c: p3', 'n1: p0 p1'],
    ],
    [
      'spread-with-room-in-two-zones',
      'two idle nodes take two pods each, and the only new node is in zone c',
      ['$0.0800 c-2x in c: p4 p5', 'n1: p0 p1', 'n2: p2 p3'],
    ],
    [
      'spread-with-room-in-a-zone-of-no-pool',
      'a node in a zone that no pool offers takes two of three pods; one new node is enough',
      ['$0.0800 c-2x in a: p2', 'n1: p0 p1'],
    ],
    [
      'spread-of-nine-with-room-in-two-zones',
      'two idle nodes take four pods each, and one new node in zone c the other four',
      ['$0.0800 c-2x in c: p6 p7 p8 p9', 'n1: p0 p1 p10 p11', 'n2: p2 p3 p4 p5'],
    ],
    [
      'spread-over-zones-and-hosts-with-room-in-one-zone',
      'with a spread over hosts as well, each idle node of zone a takes one pod, in turn with new nodes',
      ['$0.0800 c-2x in b: p2', '$0.0800 c-2x in c: p3', 'n1: p0', 'n1b: p1'],
    ],
    [
      'spread-with-room-for-two',
      'a node with room for two pods takes exactly two, the rest is level over new nodes',
      ['$0.0800 c-2x in b: p2 p3', '$0.0800 c-2x in c: p4 p5', 'n1: p0 p1'],
    ],
    [
      'soft-spread-with-room-in-two-zones',
      'a ScheduleAnyway spread uses the room of existing nodes just the same',
      ['$0.0800 c-2x in c: p4 p5', 'n1: p0 p1', 'n2: p2 p3'],
    ],
    [
      'spread-of-24-with-two-idle-nodes',
      'of 24 pods 8 go on each idle node, and the last 8 on new nodes in the third zone',
      [
        '$0.0188 t3a.small in us-east-1c: w-16 w-17',
        '$0.0188 t3a.small in us-east-1c: w-18 w-19',
        '$0.0188 t3a.small in us-east-1c: w-20 w-21',
        '$0.0188 t3a.small in us-east-1c: w-22 w-23',
        'n1: w-0 w-1 w-2 w-3 w-4 w-5 w-6 w-7',
        'n2: w-10 w-11 w-12 w-13 w-14 w-15 w-8 w-9',
      ],
    ],
    [
      'spread-beside-anti-affinity-with-room',
      'spread pods fill two nodes and the pods kept apart get one new node each in the zone they prefer',
      ['$0.0800 c-2x in c: v-0 w-4', '$0.0800 c-2x in c: v-1 w-5', 'n0: w-0 w-1 w-2', 'n1: w-3'],
    ],
    [
      'spread-over-capacity-types-with-room',
      'a spread over capacity types puts two pods on the on-demand node and two on spot nodes',
      [
        '$0.0400 c-2x in c: w-2 x-1',
        '$0.0400 c-2x in c: w-3 x-2',
        '$0.0400 c-2x in b: x-3',
        '$0.0400 c-2x in b: x-4',
        '$0.0400 c-2x in b: x-5',
        'n0: x-0',
        'n1: v-0 w-0 w-1',
      ],
    ],
    [
      'soft-spread-in-two-pools-with-room',
      'one node in zone c completes two spreads at once',
      ['$0.0500 m-2x in c: w-1 w-2 x-1', 'n0: w-0 x-0'],
    ],
    [
      'spread-in-one-zone-beside-spread-over-zones',
      'pods bound to zone a and pods spread over all zones share three nodes; only what anti-affinity parts is bought',
      [
        '$0.0800 c-2x in a: w-2',
        '$0.0800 c-2x in a: w-3',
        '$0.0800 c-2x in c: x-4 x-5',
        'n0: v-0 w-0 x-0 x-1',
        'n1: x-2 x-3',
        'n2: w-1',
      ],
    ],
    [
      'soft-spread-under-a-limit-with-room',
      'a soft spread stays level: three pods in zone c, and one more in zone a than fits on its node',
      ['$0.1000 m-4x in c: w-2 w-3 w-4', '$0.0400 c-2x in a: w-5', 'n1: w-0 w-1 x-0'],
    ],
    [
      'spread-of-anti-affine-pods-with-room',
      'kept apart by anti-affinity, two pods go on existing nodes and four on new ones; the pod that wants to be beside w has no room there',
      [
        '$0.0400 c-2x in a: v-2',
        '$0.0400 c-2x in a: v-3',
        '$0.0400 c-2x in a: v-4',
        '$0.0400 c-2x in b: v-5',
        'n0: w-0',
        'n1: v-0 x-0 x-1',
        'n2: v-1',
        'left out (taint-not-tolerated, pod-affinity, topology-spread): x-2',
      ],
    ],
    [
      'spread-that-prefers-a-zone-with-room',
      'a preference for zone a gives way to the spread, and one new node in zone c is enough',
      ['$0.0800 c-2x in c: w-0 x-4 x-5', 'n0: v-0 v-1 x-0 x-1', 'n1: x-2 x-3'],
    ],
    [
      'spread-with-skew-2-and-large-nodes-only',
      'with a skew of 2, existing nodes take five of six pods and one large node the last',
      ['$0.8000 m-16x in c: w-5', 'n0: w-0', 'n1: w-1 w-2', 'n2: w-3 w-4'],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});

describe('a limit that is used up leaves room on planned nodes', () => {
  test.each<Case>([
    [
      'limit-reached-by-one-node',
      'one large pod and the three small ones share the only node that the limit allows; the other large pod is left out',
      ['$0.0800 c-2x in a|b|c: big0 small0 small1 small2', 'left out (pool-limit): big1'],
    ],
    [
      'limit-of-one-node',
      'with a limit of one node, the small pods join it',
      ['$0.0800 c-2x in a|b|c: big0 small0 small1 small2', 'left out (pool-limit): big1'],
    ],
    [
      'limit-of-four-cores',
      'two small nodes within the limit hold all but one of the large pods',
      [
        '$0.0800 c-2x in a|b|c: big0 small0 small1 small2',
        '$0.0800 c-2x in a|b|c: big1 small3 small4',
        'left out (pool-limit): big2',
      ],
    ],
    [
      'limit-and-spread',
      'pods of a second spread join the three nodes that used up the limit',
      [
        '$0.0800 c-2x in a: big0 small0',
        '$0.0800 c-2x in b: big1 small1',
        '$0.0800 c-2x in c: big2 small2',
        'left out (pool-limit): big20',
      ],
    ],
    [
      'limit-of-sixteen-cores',
      'sixteen cores on one node hold 46 of 50 pods, where nodes of two cores hold 32',
      ['$0.8000 m-16x in a|b|c: 46 pods', 'left out (pool-limit): big6 big7 big8 big9'],
    ],
    [
      'limit-and-soft-spread',
      'two nodes use up the limit, and a ScheduleAnyway spread over hosts gives way to it',
      ['$0.0800 c-2x in a|b|c: p0 p1', '$0.0800 c-2x in a|b|c: p2 p3'],
    ],
    [
      'limit-and-preferred-anti-affinity',
      'a preferred anti-affinity gives way once two nodes use up the limit',
      ['$0.0800 c-2x in a|b|c: p0 p1', '$0.0800 c-2x in a|b|c: p2 p3'],
    ],
    [
      'limit-of-one-node-and-preferred-anti-affinity',
      'a preferred anti-affinity over zones gives way to a limit of one node',
      ['$0.0800 c-2x in a: p0 p1 p2'],
    ],
    [
      'limit-of-one-node-and-affinity',
      'pods that follow a pod into its zone join its node, which is the only one allowed',
      ['$0.0800 c-2x in a: p0 p1 y0', 'left out (pool-limit): y1'],
    ],
    [
      'limit-and-soft-rules-in-two-pools',
      'a ScheduleAnyway spread takes three nodes only if no other pod goes without a place for it',
      [
        '$0.0800 c-2x in a: v-0',
        '$0.0800 c-2x in b: v-1',
        '$0.0800 c-2x in c: v-2',
        '$0.0800 c-2x in a: v-3',
        '$0.4000 m-8x in a: w-0 w-1 w-2 x-0 x-1 x-2 x-3 x-4 x-5',
      ],
    ],
    [
      'limit-filled-to-the-last-core',
      'one node with all of the limit holds every pod but the one whose hostname rule forbids it',
      ['$0.4000 m-8x in c: v-0 w-0 w-1 w-2 w-3 w-4 w-5 x-0', 'left out (pool-limit): v-1'],
    ],
    [
      'limit-beside-full-nodes',
      'pods that no existing node takes share the one node that the limit allows',
      [
        '$0.0500 m-2x in b: v-0 v-1 w-2',
        'n0: w-0 x-0 x-1 x-2',
        'n1: w-1 x-3',
        'left out (pool-limit, pod-anti-affinity): v-2 v-3 v-4 v-5',
        'left out (pool-limit, topology-spread): w-3 w-4 w-5',
      ],
    ],
    [
      'limit-beside-anti-affinity',
      'preferred rules give way, so that every pod finds room within the limit',
      ['$0.2000 m-4x in b: w-0 w-1 w-2 w-3 w-4 w-5 x-2', 'n0: x-0 x-1', 'n2: v-0 v-1 v-2 v-3'],
    ],
    [
      'limit-of-two-nodes-by-memory',
      'two nodes use up the limit and are filled by memory',
      [
        '$0.0400 c-2x in a|b|c: v-0 w-0',
        '$0.0400 c-2x in a|b|c: v-1 w-1',
        'left out (pool-limit): v-2 v-3',
      ],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});
