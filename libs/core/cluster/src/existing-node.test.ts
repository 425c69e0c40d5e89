import { type NodeClaim, taints } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import type { Node, Taint } from '@dovetail/core-kube-model';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import type { ExistingNode } from '@dovetail/core-scheduling';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { decidedLabels, existingNode, nodeInFlight } from './existing-node.js';

const initialized = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' };
const registered = { 'karpenter.sh/registered': 'true' };
const noRoom = { pods: [], reserved: {} };
const joined = (node: Partial<Node>, claim?: Partial<NodeClaim>): ExistingNode =>
  existingNode({
    node: nodeValue('n', node),
    ...(claim === undefined ? {} : { claim: claimValue('c', claim) }),
    types: typesByName(plainTypeValue('m5.large', 2_000, { priceMicrosPerHour: 96_000 })),
    pods: [],
    promised: [noRoom],
  });
const inFlight = (claim: Partial<NodeClaim>): ExistingNode =>
  nodeInFlight({
    claim: claimValue('c', claim),
    types: typesByName(
      plainTypeValue('m5.large', 2_000, { priceMicrosPerHour: 96_000 }),
      plainTypeValue('m5.xlarge', 4_000, { priceMicrosPerHour: 192_000 }),
    ),
    promised: [],
  });

const startup: Taint = { key: 'cni', effect: 'NoSchedule' };
const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const own: Taint = { key: 'team', value: 'a', effect: 'NoSchedule' };
const echo: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

describe('the state of a node', () => {
  test.each<[string, ExistingNode['state'], Partial<Node>, Partial<NodeClaim> | undefined]>([
    ['of nobody', 'ready', {}, undefined],
    ['that is initialised', 'ready', { labels: initialized }, {}],
    ['that is only registered', 'uninitialized', { labels: registered }, {}],
    ['that has just joined', 'uninitialized', {}, {}],
    [
      'whose claim has not been seen',
      'uninitialized',
      { labels: { ...registered, 'karpenter.sh/nodepool': 'p' } },
      undefined,
    ],
    [
      'that another tool labels with a pool',
      'ready',
      { labels: { 'karpenter.sh/nodepool': 'p' } },
      undefined,
    ],
    ['that is being deleted', 'deleting', { deletionMs: 1 }, undefined],
    ['whose claim is being deleted', 'deleting', { labels: initialized }, { deletionMs: 1 }],
    [
      'that the reaper marked',
      'deleting',
      { annotations: { 'dovetail.sh/retirement': '{}' } },
      undefined,
    ],
    ['that is tainted as disrupted', 'deleting', { taints: [taints.disrupted] }, undefined],
  ])('of a node %s is %s', (_what, state, node, claim) =>
    expect(joined(node, claim).state).toBe(state),
  );
});

describe('until a node is registered', () => {
  test('its claim says which labels and taints it will have', () => {
    const seen = joined(
      { labels: { zone: 'kubelet' }, taints: [{ ...taints.unregistered }] },
      { labels: { zone: 'claim', team: 'a' }, taints: [own], startupTaints: [startup] },
    );
    expect(seen.labels).toEqual({ zone: 'claim', team: 'a' });
    expect(seen.taints).toEqual([own]);
  });

  test('once it is, its own labels and taints count', () => {
    const seen = joined(
      { labels: { ...registered, zone: 'kubelet' } },
      { labels: { zone: 'claim' }, taints: [own] },
    );
    expect(seen.labels['zone']).toBe('kubelet');
    expect(seen.taints).toEqual([]);
  });
});

describe('until a node is initialised', () => {
  test('its startup and ephemeral taints do not count, others do', () => {
    const seen = joined(
      { labels: registered, taints: [startup, notReady, own] },
      { startupTaints: [startup] },
    );
    expect(seen.taints).toEqual([own]);
  });

  test('once it is, all of them count (Karpenter: they keep pods away again)', () => {
    const seen = joined(
      { labels: initialized, taints: [startup, notReady, own] },
      { startupTaints: [startup] },
    );
    expect(seen.taints).toEqual([startup, notReady, own]);
  });

  test("its claim's figures stand where it reports nothing or zero", () => {
    const seen = joined(
      { labels: registered, capacity: { cpu: 0, pods: 10 }, allocatable: { cpu: 5 } },
      { capacity: { cpu: 4, gpu: 1, pods: 58 }, allocatable: { cpu: 3, gpu: 1 } },
    );
    expect(seen.capacity).toEqual({ cpu: 4, gpu: 1, pods: 10 });
    expect(seen.allocatable).toEqual({ cpu: 5, gpu: 1 });
  });

  test('it counts as it is when it is overdue, so that nothing is planned on what may never come', () => {
    const overdue = { 'dovetail.sh/overdue': '2026-11-21T12:00:00Z' };
    const seen = joined(
      { labels: registered, annotations: overdue, taints: [startup], allocatable: { cpu: 5 } },
      { startupTaints: [startup], allocatable: { cpu: 3, gpu: 1 } },
    );
    expect(seen).toMatchObject({ state: 'uninitialized', taints: [startup] });
    expect(seen.allocatable).toEqual({ cpu: 5 });
  });

  test('once it is, a zero is a zero', () => {
    const seen = joined({ labels: initialized, capacity: { gpu: 0 } }, { capacity: { gpu: 1 } });
    expect(seen.capacity).toEqual({ gpu: 0 });
  });
});

describe('a cordon', () => {
  test.each<[string, Partial<Node>, boolean]>([
    ['closes a node', { cordoned: true }, true],
    [
      'of our own does not: it ends when the pods are bound',
      { cordoned: true, annotations: { 'dovetail.sh/placement-cordon': 't' } },
      false,
    ],
    ['is not what the taint alone says: it lags behind the field', { taints: [echo] }, false],
  ])('%s', (_what, node, cordoned) => expect(joined(node).cordoned).toBe(cordoned));

  test.each<[string, Partial<Node>]>([
    ["of somebody else's", { cordoned: true, taints: [echo] }],
    [
      'of our own',
      { cordoned: true, taints: [echo], annotations: { 'dovetail.sh/placement-cordon': 't' } },
    ],
  ])('%s is said once: its taint is left out', (_whose, node) =>
    expect(joined(node).taints).toEqual([]),
  );
});

describe('the room on a node', () => {
  const node = nodeValue('n', { labels: initialized });
  const claim = claimValue('c');

  test('is taken by pods that have not ended', () => {
    const pods = [
      podValue('a', { nodeName: 'n' }),
      podValue('b', { nodeName: 'n', phase: 'Failed' }),
    ];
    const seen = existingNode({ node, claim, types: typesByName(), pods, promised: [] });
    expect(seen.pods.map(({ uid }) => uid)).toEqual(['a']);
  });

  test('is kept for each promised pod once, and for all amounts', () => {
    const promised = [
      { pods: [podValue('a'), podValue('b')], reserved: { cpu: 1 } },
      { pods: [podValue('b')], reserved: { cpu: 2, memory: 3 } },
    ];
    const seen = existingNode({ node, claim, types: typesByName(), pods: [], promised });
    expect(seen.promisedPods.map(({ uid }) => uid)).toEqual(['a', 'b']);
    expect(seen.reserved).toEqual({ cpu: 3, memory: 3 });
  });
});

describe('the price of a node', () => {
  const where = {
    ...initialized,
    'node.kubernetes.io/instance-type': 'm5.large',
    'topology.kubernetes.io/zone': 'a',
  };
  const labels = { ...where, 'karpenter.sh/capacity-type': 'on-demand' };
  test("is its offering's", () => {
    const seen = joined({ labels }, {});
    expect([seen.instanceType, seen.priceMicrosPerHour]).toEqual(['m5.large', 96_000]);
  });
  test.each<[string, Readonly<Record<string, string>>]>([
    ['the way it was bought', where],
    ['an offering of its zone', { ...labels, 'topology.kubernetes.io/zone': 'b' }],
    ['its type', { ...labels, 'node.kubernetes.io/instance-type': 'x1.large' }],
  ])('is unknown without %s', (_what, known) =>
    expect(joined({ labels: known }, {}).priceMicrosPerHour).toBeUndefined(),
  );
});

describe('a node belongs to', () => {
  test.each<[string, string | undefined, Partial<Node>, Partial<NodeClaim> | undefined]>([
    ["its claim's pool", 'NodePool/default', { labels: { 'karpenter.sh/nodepool': 'x' } }, {}],
    [
      'the pool of its label',
      'NodePool/x',
      { labels: { 'karpenter.sh/nodepool': 'x' } },
      undefined,
    ],
    ['nobody', undefined, {}, undefined],
  ])('%s', (_whom, key, node, claim) => expect(joined(node, claim).poolKey).toBe(key));
});

describe('a claim in flight', () => {
  const type = (...values: readonly string[]) =>
    ({ key: 'node.kubernetes.io/instance-type', operator: 'In', values }) as const;

  test('has a label for each requirement that leaves one value, the rest is open', () => {
    const seen = inFlight({
      labels: { team: 'a' },
      requirements: [
        type('m5.large', 'm5.xlarge'),
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] },
        { key: 'arch', operator: 'Exists', values: [] },
      ],
    });
    expect(seen.labels).toEqual({ team: 'a', 'topology.kubernetes.io/zone': 'a' });
    expect([...seen.requirements.keys()].sort()).toEqual([
      'arch',
      'node.kubernetes.io/instance-type',
    ]);
  });

  test('is what its labels say, once launched, whatever its requirements leave open', () => {
    const seen = inFlight({
      labels: { 'node.kubernetes.io/instance-type': 'm5.xlarge' },
      requirements: [type('m5.large', 'm5.xlarge')],
      capacity: { cpu: 4_000 },
      allocatable: { cpu: 3_900 },
    });
    expect(seen.requirements.size).toBe(0);
    expect([seen.capacity, seen.allocatable]).toEqual([{ cpu: 4_000 }, { cpu: 3_900 }]);
  });

  test('has the least of its options before it is launched', () => {
    const seen = inFlight({ requirements: [type('m5.large', 'm5.xlarge')] });
    expect([seen.capacity['cpu'], seen.allocatable['cpu']]).toEqual([2_000, 1_900]);
  });

  test('has no room when the catalog knows none of its options', () =>
    expect(inFlight({ requirements: [type('x1.large')] }).allocatable).toEqual({}));

  test('keeps a key open that admits no value, so that nothing matches it', () => {
    const zone = (value: string) => ({ key: 'zone', operator: 'In', values: [value] }) as const;
    const seen = inFlight({ requirements: [zone('a'), zone('b')] });
    expect(seen.labels['zone']).toBeUndefined();
    expect(seen.requirements.get('zone')).toMatchObject({ kind: 'in', values: new Set() });
  });

  test('does not count its startup and ephemeral taints', () => {
    const seen = inFlight({ taints: [own, startup, notReady], startupTaints: [startup] });
    expect(seen.taints).toEqual([own]);
  });
});

test('a claim says the same of its node in flight as on the day it joins', () => {
  const taint = fc.constantFrom(own, startup, notReady);
  const label = fc.dictionary(fc.constantFrom('team', 'zone'), fc.constantFrom('a', 'b'));
  const claims = fc.record({
    labels: label,
    taints: fc.uniqueArray(taint),
    startupTaints: fc.subarray([startup]),
  });
  fc.assert(
    fc.property(claims, (over) => {
      const launched = { ...over, capacity: { cpu: 4 }, allocatable: { cpu: 3 } };
      const before = inFlight(launched);
      const after = joined(
        { capacity: {}, allocatable: {}, taints: [taints.unregistered] },
        launched,
      );
      expect(after.labels).toEqual(before.labels);
      expect(new Set(after.taints)).toEqual(new Set(before.taints));
      expect([after.capacity, after.allocatable]).toEqual([before.capacity, before.allocatable]);
    }),
  );
});

test('a label is decided exactly by one admitted value', () => {
  const values = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 });
  fc.assert(
    fc.property(values, (all) => {
      const decided = decidedLabels([{ key: 'k', operator: 'In', values: all }]);
      expect(decided).toEqual(all.length === 1 ? { k: all[0] } : {});
    }),
  );
});
