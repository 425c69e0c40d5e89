import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from '@jest/globals';

import type { SimulationResult } from './result.js';
import { runSimulate } from './run.js';

// Each case is a file of manifests and the plan that is right for it. They are planned without a
// budget, so that the first plan itself must be right.
const folder = join(import.meta.dirname, '../../../../tests/planner-cases');

const listed = (pods: readonly string[]): string =>
  pods.length > 12
    ? `${pods.length} pods`
    : pods.map((pod) => pod.replace(/^default\//, '')).join(' ');

function leftOut({ unschedulable }: SimulationResult): readonly string[] {
  const byCodes = new Map<string, string[]>();
  for (const { pod, reasons } of unschedulable) {
    const codes = [...new Set(reasons.map(({ code }) => code))].join(', ');
    byCodes.set(codes, [...(byCodes.get(codes) ?? []), pod]);
  }
  return [...byCodes].map(([codes, pods]) => `left out (${codes}): ${listed(pods)}`);
}

/** A plan in a few lines: new nodes, pods on nodes that exist, and pods that are left out. */
const linesOf = (result: SimulationResult): readonly string[] => [
  ...result.newNodes.map(({ instanceTypes: [type = ''], zones, price, pods }) => {
    const where = zones.map((zone) => zone.replace('test-zone-', '')).join('|');
    return `$${price.toFixed(4)} ${type} in ${where}: ${listed(pods)}`;
  }),
  ...result.existingNodes.map(({ name, pods }) => `${name}: ${listed(pods)}`),
  ...leftOut(result),
];

async function planned(file: string): Promise<readonly string[]> {
  const path = join(folder, `${file}.yaml`);
  let out = '';
  let err = '';
  await runSimulate(
    {
      paths: [path],
      // Cases with real zones are about real types.
      catalog: readFileSync(path, 'utf8').includes('us-east-1')
        ? 'us-east-1'
        : join(folder, 'catalog.json'),
      output: 'json',
      budgetMs: 0,
      boundMs: 0,
      seed: 1,
      hostnameSpread: 'balanced',
      preferences: 'Respect',
    },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      progress: () => undefined,
    },
  );
  return out === '' ? [err] : linesOf(JSON.parse(out) as SimulationResult);
}

/** A file of tests/planner-cases, the expectation in words, and the plan in lines. */
type Case = readonly [file: string, expectation: string, lines: readonly string[]];

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
      'sixteen cores hold 32 of 50 pods, all of the limit being in use',
      [
        '$0.0800 c-2x in a|b|c: big0 big1 small0 small1',
        '$0.0800 c-2x in a|b|c: big10 big11 small10 small11',
        '$0.0800 c-2x in a|b|c: big12 big13 small12 small13',
        '$0.0800 c-2x in a|b|c: big14 big15 small14 small15',
        '$0.0800 c-2x in a|b|c: big16 big17 small16 small17',
        '$0.0800 c-2x in a|b|c: big18 big19 small18 small19',
        '$0.0800 c-2x in a|b|c: big2 big3 small2 small20',
        '$0.0800 c-2x in a|b|c: big4 big5 small21 small22',
        'left out (pool-limit): 18 pods',
      ],
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
      'two pods that are kept out of the zones of others leave these a zone, and all are placed',
      [
        '$0.0800 c-2x in b: w-0',
        '$0.0800 c-2x in b: w-1',
        '$0.0800 c-2x in b: w-2',
        '$0.0800 c-2x in b: w-3',
        '$0.8000 m-16x in a: x-0',
        '$0.8000 m-16x in a: x-1',
        '$0.0800 c-2x in b: v-0',
        '$0.0800 c-2x in b: v-1',
        '$0.0800 c-2x in c: v-2',
        '$0.0800 c-2x in c: v-3',
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

describe('minValues counts what the remaining types are sold as', () => {
  test.each<Case>([
    [
      'min-values-of-zones-and-a-pod-in-one',
      'a pod bound to zone a leaves a type that is sold in three zones',
      ['$0.0800 c-2x in a: p0'],
    ],
    [
      'min-values-of-zones-and-a-spread',
      'so does each pod of a spread over zones',
      ['$0.0800 c-2x in a: p0', '$0.0800 c-2x in b: p1', '$0.0800 c-2x in c: p2'],
    ],
    [
      'min-values-of-capacity-types-and-a-spot-pod',
      'a spot pod leaves types that are sold both ways',
      ['$0.0400 c-2x in a|b|c|d: p'],
    ],
    [
      'min-values-of-zones-and-a-volume',
      'so does a pod with a volume in zone b',
      ['$0.0800 c-2x in b: p'],
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
      [
        '$0.0094 t3a.micro in us-east-1a: w-0',
        '$0.0094 t3a.micro in us-east-1b: w-1',
        '$0.0094 t3a.micro in us-east-1c: w-2',
      ],
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
