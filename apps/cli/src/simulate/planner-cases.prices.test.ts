import { describe, expect, test } from 'vitest';

import { type Case, planned } from './testing/planner-cases.js';

describe('of pools of equal weight the cheaper node wins', () => {
  test.each<Case>([
    [
      'pools-of-equal-weight-and-hostname-spread',
      'under a hostname spread the pods go on spot nodes of pool a, not on large ones of pool b',
      ['$0.0500 m-2x in a|b|c: p0 p1', '$0.0400 c-2x in a|b|c: p2', '$0.0400 c-2x in a|b|c: p3'],
    ],
    [
      'pools-of-equal-weight-and-anti-affinity',
      'each of four pods kept apart gets the cheapest node',
      [
        '$0.0400 c-2x in a|b|c: p0',
        '$0.0400 c-2x in a|b|c: p1',
        '$0.0400 c-2x in a|b|c: p2',
        '$0.0400 c-2x in a|b|c: p3',
      ],
    ],
    [
      'pools-of-equal-weight-and-host-ports',
      'so does each of four pods with one host port',
      [
        '$0.0400 c-2x in a|b|c: p0',
        '$0.0400 c-2x in a|b|c: p1',
        '$0.0400 c-2x in a|b|c: p2',
        '$0.0400 c-2x in a|b|c: p3',
      ],
    ],
    [
      'pools-of-equal-weight-and-small-pods',
      'and each of four small pods',
      [
        '$0.0400 c-2x in a|b|c: p0',
        '$0.0400 c-2x in a|b|c: p1',
        '$0.0400 c-2x in a|b|c: p2',
        '$0.0400 c-2x in a|b|c: p3',
      ],
    ],
    [
      'pools-of-equal-weight-one-with-large-nodes-only',
      'a pool with large nodes only is not bought from',
      [
        '$0.0800 c-2x in a|b|c: p0',
        '$0.0800 c-2x in a|b|c: p1',
        '$0.0800 c-2x in a|b|c: p2',
        '$0.0800 c-2x in a|b|c: p3',
      ],
    ],
    [
      'pools-of-equal-weight-and-one-pod',
      'one pod gets the cheapest node of both pools',
      ['$0.0400 c-2x in a|b|c: p0'],
    ],
    [
      'pools-of-equal-weight-one-with-spot',
      'a spot pool beats an on-demand pool, whatever their names',
      [
        '$0.0400 c-2x in a|b|c: p0',
        '$0.0400 c-2x in a|b|c: p1',
        '$0.0400 c-2x in a|b|c: p2',
        '$0.0400 c-2x in a|b|c: p3',
        '$0.0400 c-2x in a|b|c: p4',
      ],
    ],
    [
      'pools-of-equal-weight-three',
      'the cheapest of three pools wins',
      [
        '$0.0400 c-2x in a|b|c: p0',
        '$0.0400 c-2x in a|b|c: p1',
        '$0.0400 c-2x in a|b|c: p2',
        '$0.0400 c-2x in a|b|c: p3',
        '$0.0400 c-2x in a|b|c: p4',
      ],
    ],
    [
      'pools-of-equal-weight-and-a-limit',
      'a limit on the dear pool changes nothing',
      ['$0.0500 m-2x in a|b|c: p0 p1', '$0.0400 c-2x in a|b|c: p2', '$0.0400 c-2x in a|b|c: p3'],
    ],
    [
      'pools-of-equal-weight-and-a-small-limit',
      'a cheap pool is used up to its limit, then the next cheapest, with small nodes while those are cheaper',
      [
        '$0.0400 c-2x in a|b|c: p0',
        '$0.0400 c-2x in a|b|c: p1',
        '$0.0800 c-2x in a|b|c: p2',
        '$0.0800 c-2x in a|b|c: p3',
        '$0.0800 c-2x in a|b|c: p4',
        '$0.0800 c-2x in a|b|c: p5',
      ],
    ],
    [
      'pools-of-equal-weight-beside-nodes',
      'beside nodes that exist, each pod kept apart gets the cheapest node too',
      [
        '$0.0400 c-2x in a: v-1',
        '$0.0400 c-2x in a: v-2',
        '$0.0400 c-2x in a: v-3',
        '$0.0400 c-2x in a: v-4',
        '$0.0400 c-2x in a: v-5',
        '$0.1000 m-4x in a: x-0 x-1 x-2 x-3',
        '$0.0400 c-2x in b: w-3 w-4',
        '$0.0400 c-2x in b: w-5',
        'n0: v-0',
        'n1: w-0 w-1',
        'n2: w-2',
      ],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});

describe('the slack of a spread saves nodes', () => {
  test.each<Case>([
    [
      'skew-of-five',
      'four pods with a skew of 5 share one node',
      ['$0.0800 c-2x in a: p0 p1 p2 p3'],
    ],
    [
      'skew-of-two-and-a-dear-zone',
      'with a skew of 2, a zone with dear nodes only stays empty',
      [
        '$0.0800 c-2x in b: p0',
        '$0.0800 c-2x in b: p1',
        '$0.0800 c-2x in c: p2',
        '$0.0800 c-2x in c: p3',
      ],
    ],
    [
      'skew-of-two-soft',
      'four pods with a soft skew of 2 fill two nodes',
      ['$0.0400 c-2x in a: x-0 x-1', '$0.0400 c-2x in b: x-2 x-3'],
    ],
    [
      'skew-of-two-beside-anti-affinity',
      'two pods that are kept out of the zones of others leave these two zones, and all are placed',
      [
        '$0.8000 m-16x in a: v-0 v-1',
        '$0.8000 m-16x in c: v-2 v-3',
        '$0.0800 c-2x in b: w-0 x-0',
        '$0.0800 c-2x in b: w-1 x-1',
        '$0.0800 c-2x in b: w-2',
        '$0.0800 c-2x in b: w-3',
      ],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});

describe('nodes that start and nodes that leave', () => {
  test.each<Case>([
    [
      'node-that-is-not-registered-yet',
      'the taint that registration removes keeps no pod away',
      ['n1: p'],
    ],
    [
      'node-with-its-pools-startup-taint',
      'the startup taint of the pool keeps no pod away from a node that is not initialised',
      ['n1: p'],
    ],
    [
      'node-whose-kubelet-has-not-reported',
      'the type of the node stands for the room that its kubelet has not reported',
      ['n1: p'],
    ],
    [
      'claim-whose-node-has-not-joined',
      'the room of a claim in flight is used',
      ['default-abc: p'],
    ],
    [
      'pod-on-a-node-that-is-deleted',
      'a pod of a node that is deleted is planned for the time after',
      ['$0.0800 c-2x in a|b|c: r'],
    ],
    [
      'pod-on-a-node-with-the-disrupted-taint',
      'a pod of a node that is retired is planned for the time after',
      ['$0.0800 c-2x in a|b|c: p r'],
    ],
    ['pod-with-a-nominated-node', 'a pod for which others make room is left aside', []],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});
