import { describe, expect, test } from 'vitest';

import { type Case, planned } from './testing/planner-cases.js';

describe('workloads of which a part is there', () => {
  test.each<Case>([
    [
      'stateful-set-without-its-first-pod',
      'the missing number is planned, with the volume of that number',
      ['$0.0800 c-2x in c: s-0'],
    ],
    [
      'replica-set-without-its-deployment',
      'a replica set asks for its own pods where its deployment is not in the input',
      ['$0.0800 c-2x in a|b|c: web-1-0 web-1-1 web-1-2'],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});

describe('minValues counts the values that the requirements of the node allow', () => {
  test.each<Case>([
    [
      'min-values-of-zones-and-a-pod-in-one',
      'a pod bound to zone a leaves one zone, wherever its type is sold',
      ['left out (min-values): p0'],
    ],
    [
      'min-values-of-zones-and-a-spread',
      'so does each pod of a spread over zones',
      ['left out (topology-spread): p0 p1 p2'],
    ],
    [
      'min-values-of-capacity-types-and-a-spot-pod',
      'a spot pod leaves one capacity type',
      ['left out (min-values): p'],
    ],
    [
      'min-values-of-zones-and-a-volume',
      'so does a pod with a volume in zone b',
      ['left out (min-values): p'],
    ],
    [
      'min-values-of-architectures',
      "two architectures are demanded and the pod's types have one",
      ['left out (min-values): p'],
    ],
    [
      'min-values-of-a-label-that-no-type-has',
      'no type has the label, so no value of it is possible',
      ['left out (min-values): p'],
    ],
    [
      'min-values-of-zones-on-real-types',
      'the same holds for types of EC2',
      ['left out (topology-spread): w-0 w-1 w-2'],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});

describe('new nodes have the labels that they get by themselves', () => {
  test.each<Case>([
    ['any-hostname', 'every node has a hostname', ['$0.0800 c-2x in a|b|c: p']],
    [
      'a-hostname-and-any-but-one',
      'no new node has a given hostname, and any may lack it',
      ['$0.0800 c-2x in a|b|c: q', 'left out (restricted-label): p'],
    ],
    [
      'ready-nodes-and-an-unknown-label',
      'new nodes are registered and initialized in time; other labels of that domain nobody promises',
      ['$0.0800 c-2x in a|b|c: q r', 'left out (restricted-label): p'],
    ],
    [
      'initialized-nodes',
      'a required affinity to initialized nodes is met as well',
      ['$0.0800 c-2x in a|b|c|d: p'],
    ],
    ['node-class-by-name', 'a node carries the name of its class', ['$0.0800 c-2x in a|b|c|d: p']],
    ['node-class-that-exists', 'a node has the label of its class', ['$0.0800 c-2x in a|b|c|d: p']],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});

describe('pods and pools are read as Kubernetes reads them', () => {
  test.each<Case>([
    [
      'volume-without-class',
      'a claim whose class is the empty text waits for a volume; the default class is not for it',
      ['left out (volume): p'],
    ],
    [
      'spread-that-ignores-node-affinity',
      "a zone of the pool that no pod to place may use does not hold the spread's minimum at 0",
      ['$0.0800 c-2x in a: p0 p1'],
    ],
    [
      'anti-affinity-of-a-pod-that-is-ending',
      'the required anti-affinity of a pod that is ending keeps others away',
      ['$0.0800 c-2x in a|b|c: p0'],
    ],
    [
      'selector-that-contradicts-itself',
      'both entries of a nodeSelector must hold, also where one is the old name of the other',
      ['left out (requirement-mismatch): p'],
    ],
    [
      'pool-that-contradicts-itself',
      'a label and a requirement that exclude each other are the reason, by name',
      ['left out (no-offering): p'],
    ],
    [
      'labels-excluded-from-two-sides',
      "two pods with different demands on one label of the user's own get different nodes",
      ['$0.0800 c-2x in a|b|c: p r', '$0.0800 c-2x in a|b|c: q'],
    ],
    [
      'selector-with-an-old-label-name',
      'old names of labels are understood',
      ['$0.4000 m-8x in c: p'],
    ],
    ['old-label-name-on-an-existing-node', 'and on existing nodes too', ['n1: p']],
    [
      'alternatives-and-a-preference',
      'after the last alternative the pod is left out with a reason',
      ['left out (requirement-mismatch): p'],
    ],
    [
      'min-domains',
      'fewer zones than minDomains admit one pod each',
      ['$0.0800 c-2x in a: p0', '$0.0800 c-2x in b: p1', 'left out (displaced): p2 p3'],
    ],
    [
      'zone-that-no-type-is-sold-in',
      'a zone that no type is sold in is no domain',
      ['$0.0800 c-2x in a: p0 p1 p2'],
    ],
    [
      'anti-affinity-over-zones',
      'one pod for each zone, and a reason for the fourth',
      [
        '$0.0800 c-2x in a: p0',
        '$0.0800 c-2x in b: p1',
        '$0.0800 c-2x in c: p2',
        'left out (displaced): p3',
      ],
    ],
    [
      'anti-affinity-of-pods-that-are-planned',
      'pods that keep each other away are planned in different zones in one plan',
      ['$0.0800 c-2x in a: p0', '$0.0800 c-2x in b: y'],
    ],
    [
      'anti-affinity-over-capacity-types',
      'one pod on spot, one on demand',
      ['$0.0400 c-2x in a|b|c|d: p0', '$0.0800 c-2x in a|b|c|d: p1'],
    ],
    [
      'limit-of-one-node-at-a-time',
      'a limit of one node holds within one plan',
      ['$0.0800 c-2x in a|b|c: p0', 'left out (pool-limit): p1 p2'],
    ],
    [
      'limit-of-memory',
      'the cheapest node within the limit for memory',
      ['$0.1000 m-2x in a|b|c: p', 'left out (pool-limit): q'],
    ],
    [
      'hostname-spread-beside-nodes',
      'a hostname spread puts no second pod on an existing node while a new one may open',
      ['$0.0800 c-2x in a|b|c: p0', '$0.0800 c-2x in a|b|c: p1'],
    ],
    ['host-port-of-a-sidecar', 'the host port of a sidecar is taken', ['$0.0800 c-2x in a|b|c: p']],
    [
      'zone-of-a-node-that-is-being-deleted',
      'a zone counts for a spread until its last node is gone, as in kube-scheduler',
      ['$0.0800 c-2x in a: p0', 'left out (displaced, node-cordoned): p1 p2'],
    ],
  ])('%s: %s', async (file, _expectation, lines) => expect(await planned(file)).toEqual(lines));
});
