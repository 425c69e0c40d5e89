import { claimValue } from '@dovetail/core-api/testing';
import { typesByName } from '@dovetail/core-ec2-model/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Cluster } from './cluster.js';
import { existingNodes, type RoomSources } from './existing-nodes.js';

const sources: RoomSources = {
  typesOf: () => typesByName(),
  promisedTo: (uid) => ({
    pods: [],
    reserved: uid === 'claim-c1' ? { cpu: 1 } : uid === 'node-n1' ? { cpu: 10 } : {},
  }),
};
const namesOf = (cluster: Cluster, over: Partial<RoomSources> = {}): readonly string[] =>
  existingNodes(cluster, { ...sources, ...over }).map((node) => `${node.name} ${node.state}`);

/** Claim c1 became node n1; claim c2 is in flight; node n2 is nobody's and holds pod a. */
function clusterOf(): Cluster {
  const cluster = new Cluster();
  cluster.set('node', nodeValue('n2'));
  cluster.set('node', nodeValue('n1', { providerId: 'aws:///a/i-1' }));
  cluster.set('claim', claimValue('c2'));
  cluster.set('claim', claimValue('c1', { providerId: 'aws:///a/i-1' }));
  cluster.set('pod', podValue('a', { nodeName: 'n2' }));
  return cluster;
}

describe('the room that exists', () => {
  test('is each node, and each claim whose node has not joined, by name', () =>
    expect(namesOf(clusterOf())).toEqual(['c2 in-flight', 'n1 uninitialized', 'n2 ready']));

  test('is kept by the promise of a node and of its claim', () =>
    expect(existingNodes(clusterOf(), sources)[1]?.reserved).toEqual({ cpu: 11 }));

  test('pairs a claim with the node that its status names', () => {
    const cluster = clusterOf();
    cluster.set('claim', claimValue('c2', { nodeName: 'n2' }));
    expect(namesOf(cluster)).toEqual(['n1 uninitialized', 'n2 uninitialized']);
  });

  test('is not in either of two Nodes with the provider ID of one claim, and their pods count', () => {
    const cluster = clusterOf();
    cluster.set('node', nodeValue('n3', { providerId: 'aws:///a/i-1' }));
    cluster.set('pod', podValue('b', { nodeName: 'n3' }));
    const nodes = existingNodes(cluster, sources);
    expect(
      nodes.map(({ name, cordoned, pods }) => [name, cordoned, pods.map((pod) => pod.name)]),
    ).toEqual([
      ['c2', false, []],
      ['n1', true, []],
      ['n2', false, ['a']],
      ['n3', true, ['b']],
    ]);
  });

  test('is not in a claim that is deleted before its node joined', () => {
    const cluster = clusterOf();
    cluster.set('claim', claimValue('c2', { deletionMs: 1 }));
    expect(namesOf(cluster)).toEqual(['n1 uninitialized', 'n2 ready']);
  });

  test.each([
    ['Registered', 'True', ['n1 uninitialized', 'n2 ready']],
    ['Registered', 'Unknown', ['c2 in-flight', 'n1 uninitialized', 'n2 ready']],
    ['Launched', 'True', ['c2 in-flight', 'n1 uninitialized', 'n2 ready']],
  ] as const)('of a claim without a node that is %s: %s', (type, status, nodes) => {
    const cluster = clusterOf();
    const conditions = [{ type, status, reason: '', message: '', lastTransitionMs: 1 }];
    cluster.set('claim', claimValue('c2', { conditions }));
    expect(namesOf(cluster)).toEqual(nodes);
  });

  test('is not in nodes and claims that a what-if does without; the nodes are still there', () =>
    expect(namesOf(clusterOf(), { without: new Set(['n1', 'c2']) })).toEqual([
      'n1 deleting',
      'n2 ready',
    ]));

  test('is taken by a daemon pod from the moment that it is made for the node', () => {
    const cluster = clusterOf();
    cluster.set(
      'pod',
      podValue('agent', {
        owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent' },
        requiredNodeAffinity: [
          {
            matchExpressions: [],
            matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }],
          },
        ],
      }),
    );
    const pods = (): readonly (readonly string[])[] =>
      existingNodes(cluster, sources).map((node) => node.pods.map(({ uid }) => uid));
    expect(pods()).toEqual([[], ['agent'], ['a']]);
    cluster.set('pod', podValue('agent', { nodeName: 'n1' }));
    expect(pods()).toEqual([[], ['agent'], ['a']]);
  });

  test('is not taken by pods that are being planned', () => {
    const cluster = clusterOf();
    const podsOn = (moving: readonly string[]): number | undefined =>
      existingNodes(cluster, { ...sources, moving: new Set(moving) }).at(-1)?.pods.length;
    expect([podsOn([]), podsOn(['a'])]).toEqual([1, 0]);
  });
});

test('every node is there once, every claim at most once, in whatever order they came', () => {
  const id = fc.constantFrom('i-1', 'i-2', 'i-3');
  const nodes = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c'), id }), {
    selector: ({ name }) => name,
  });
  const claims = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('x', 'y', 'z'),
      id: fc.option(id, { nil: undefined }),
      nodeName: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
    }),
    { selector: ({ name }) => name },
  );
  fc.assert(
    fc.property(nodes, claims, fc.boolean(), (someNodes, someClaims, claimsFirst) => {
      const build = (first: boolean): Cluster => {
        const cluster = new Cluster();
        const puts = [
          () => {
            for (const { name, id: instance } of someNodes)
              cluster.set('node', nodeValue(name, { providerId: instance }));
          },
          () => {
            for (const { name, id: instance, nodeName } of someClaims)
              cluster.set(
                'claim',
                claimValue(name, {
                  ...(instance === undefined ? {} : { providerId: instance }),
                  ...(nodeName === undefined ? {} : { nodeName }),
                }),
              );
          },
        ];
        for (const put of first ? puts.toReversed() : puts) put();
        return cluster;
      };
      const seen = existingNodes(build(claimsFirst), sources);
      expect(seen).toEqual(existingNodes(build(!claimsFirst), sources));
      const joined = seen.filter(({ state }) => state !== 'in-flight').map(({ name }) => name);
      expect(joined).toEqual(someNodes.map(({ name }) => name).toSorted());
      const inFlight = seen.filter(({ state }) => state === 'in-flight').map(({ name }) => name);
      expect(new Set(inFlight).size).toBe(inFlight.length);
    }),
  );
});
