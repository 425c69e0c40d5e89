import type { NodeSelectorTerm, Pod, RequirementSpec } from '@dovetail/core-kube-model';
import { requirementsOf } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { BinOption, NewNode } from '../plan.js';
import type { ExistingNode, Snapshot } from '../snapshot.js';
import { hostsOf } from '../testing/hosts.js';
import {
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import {
  Blueprint,
  domainsOf,
  firstRefused,
  type Host,
  labelsSatisfy,
  podAccepts,
  type Variant,
} from './hosts.js';

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const typeKey = 'node.kubernetes.io/instance-type';
const pool = {
  pool: poolOf('default', { taints: [{ key: 'pool', effect: 'NoSchedule' as const }] }),
  instanceTypes: ['m.2', 'm.4'].map((name) =>
    typeOf({
      name,
      cpuMillis: 2000,
      memoryBytes: gibibytes(8),
      labels: { family: 'm' },
      offerings: ['a', 'b'].map((zone) => offeringOf(zone, 'on-demand', 100)),
    }),
  ),
};
const option = (instanceType: string, zone: string): BinOption => ({
  instanceType,
  zone,
  capacityType: 'on-demand',
  priceMicrosPerHour: 100,
});
const bin = (options: readonly BinOption[], over: Partial<NewNode> = {}): NewNode => ({
  id: 'bin-0',
  pool: { kind: 'NodePool', name: 'default' },
  options,
  requirements: [],
  labels: {},
  taints: [],
  requests: {},
  podUids: [],
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
  ...over,
});
const hostsFor = (
  newNodes: readonly NewNode[],
  nodes: readonly ExistingNode[] = [],
  podsOn: ReadonlyMap<string, readonly Pod[]> = new Map(),
  moving: readonly string[] = [],
): readonly Host[] => {
  const snapshot: Snapshot = snapshotOf({ pools: [pool], nodes });
  return hostsOf(snapshot, { newNodes, podsOn }, new Set(moving));
};
const hostFor = (newNodes: readonly NewNode[], nodes: readonly ExistingNode[] = []): Host => {
  const [host] = hostsFor(newNodes, nodes);
  if (host === undefined) throw new Error('a host was asked for');
  return host;
};

describe('the labels of a node', () => {
  const spec = (
    key: string,
    operator: RequirementSpec['operator'],
    ...values: readonly string[]
  ): RequirementSpec => ({ key, operator, values });
  const variant: Variant = {
    labels: { app: 'x', size: '4' },
    open: requirementsOf([spec('zone', 'In', 'a', 'b'), spec('later', 'Exists')]),
  };
  test.each<[string, boolean, readonly RequirementSpec[]]>([
    ['nothing', true, []],
    ['a value they have', true, [spec('app', 'In', 'x', 'y')]],
    ['a value they have not', false, [spec('app', 'In', 'y')]],
    ['the absence of a label they have', false, [spec('app', 'DoesNotExist')]],
    ['the absence of one they have not', true, [spec('team', 'DoesNotExist')]],
    ['no such value of a label they have not', true, [spec('team', 'NotIn', 'x')]],
    ['a label they have not', false, [spec('team', 'Exists')]],
    ['a number above theirs', false, [spec('size', 'Gt', '4')]],
    ['a number below theirs', true, [spec('size', 'Gt', '3')]],
    ['all that an open label may become', true, [spec('zone', 'In', 'a', 'b', 'c')]],
    ['one of what an open label may become', false, [spec('zone', 'In', 'a')]],
    ['the existence of an open label', true, [spec('zone', 'Exists')]],
    ['the absence of an open label', false, [spec('zone', 'DoesNotExist')]],
    ['a value of a label that may become anything', false, [spec('later', 'In', 'a')]],
    ['both of two things, one of them wrong', false, [spec('app', 'Exists'), spec('no', 'Exists')]],
  ])('that are asked for %s: %j', (_, expected, wanted) => {
    expect(labelsSatisfy(variant, wanted)).toBe(expected);
  });
});

describe('a pod accepts a node', () => {
  const term = (key: string, value: string): NodeSelectorTerm => ({
    matchExpressions: [{ key, operator: 'In', values: [value] }],
    matchFields: [],
  });
  const nowhere: NodeSelectorTerm = { matchExpressions: [], matchFields: [] };
  const field: NodeSelectorTerm = {
    ...term('app', 'x'),
    matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }],
  };
  test.each<[string, boolean, Partial<Pod>]>([
    ['if it asks for nothing', true, {}],
    ['with the labels of its selector', true, { nodeSelector: { app: 'x' } }],
    ['but not with others', false, { nodeSelector: { app: 'y' } }],
    ['with the labels it has besides', true, { nodeSelector: { up: 'true' } }],
    [
      'that one of its terms fits',
      true,
      { requiredNodeAffinity: [term('app', 'y'), term('app', 'x')] },
    ],
    ['but not if none fits', false, { requiredNodeAffinity: [term('app', 'y')] }],
    ['but not if there are no terms', false, { requiredNodeAffinity: [] }],
    ['but not by an empty term', false, { requiredNodeAffinity: [nowhere] }],
    ['but not by a term over fields', false, { requiredNodeAffinity: [field] }],
    [
      'but not if only its terms fit',
      false,
      { nodeSelector: { app: 'y' }, requiredNodeAffinity: [term('app', 'x')] },
    ],
  ])('%s', (_, expected, over) => {
    const accepted = podAccepts(podOf('p', over), { labels: { app: 'x' } }, { up: 'true' });
    expect(accepted).toBe(expected);
  });

  test('refuses the first of the ways in which a new node may come to be', () => {
    const host = hostFor([bin([option('m.2', 'a'), option('m.4', 'b')])]);
    const pod = podOf('p', { nodeSelector: { [zoneKey]: 'a' } });
    expect(firstRefused(pod, host)?.option?.of).toEqual(option('m.4', 'b'));
    expect(firstRefused(podOf('q', { nodeSelector: { family: 'm' } }), host)).toBeUndefined();
  });
});

describe('the domains of a node', () => {
  const both = bin([option('m.2', 'a'), option('m.2', 'b')]);
  const inFlight = nodeOf('n', {
    requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: ['a', 'b'] }]),
  });
  test.each<[string, Host, string, readonly (string | undefined)[]]>([
    ['a new node: every zone of its options', hostFor([both]), zoneKey, ['a', 'b']],
    ['a new node: one for a label that all options share', hostFor([both]), typeKey, ['m.2']],
    ['a new node: itself', hostFor([both]), hostKey, ['bin-0']],
    ['a new node without options: none', hostFor([bin([])]), hostKey, []],
    ['a new node: absence', hostFor([both]), 'rack', [undefined]],
    ['a claim in flight: what it may become', hostFor([], [inFlight]), zoneKey, ['a', 'b']],
    [
      'a node: what it is',
      hostFor([], [{ ...inFlight, labels: { [zoneKey]: 'b' } }]),
      zoneKey,
      ['b'],
    ],
    ['a node: its name', hostFor([], [nodeOf('n')]), hostKey, ['n']],
    ['a node: absence', hostFor([], [nodeOf('n')]), 'rack', [undefined]],
  ])('%s', (_, host, key, expected) => {
    expect(domainsOf(host, key)).toEqual(expected);
  });
});

describe('the ways in which a new node may come to be', () => {
  const labelsOf = (node: NewNode) => hostFor([node]).blueprint.variants.map((one) => one.labels);

  test('are its options that the pool offers', () => {
    const [first, ...others] = labelsOf(
      bin([option('m.2', 'a'), option('x.9', 'a'), option('m.2', 'z')]),
    );
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      [zoneKey]: 'a',
      [typeKey]: 'm.2',
      family: 'm',
      'karpenter.sh/nodepool': 'default',
    });
  });

  test('have the labels of the claim, and no zone but their own', () => {
    const [labels] = labelsOf(
      bin([option('m.2', 'b')], { labels: { team: 'blue', [zoneKey]: 'x' } }),
    );
    expect(labels).toMatchObject({ team: 'blue', [zoneKey]: 'b' });
  });

  test('lack a label of the type that the claim rules out', () => {
    const requirements = [{ key: 'family', operator: 'NotIn' as const, values: ['m'] }];
    const [labels] = labelsOf(bin([option('m.2', 'a')], { requirements }));
    expect(labels).not.toHaveProperty('family');
  });

  test('are drawn once for nodes that are alike', () => {
    const options = [option('m.2', 'a')];
    const [requirements, labels] = [[], {}];
    const [one, two, other] = hostsFor([
      bin(options, { id: 'one', requirements, labels }),
      bin(options, { id: 'two', requirements, labels }),
      bin(options, { id: 'other', requirements, labels: { team: 'blue' } }),
    ]);
    expect(one?.blueprint).toBe(two?.blueprint);
    expect(other?.blueprint).not.toBe(one?.blueprint);
  });

  test('are tested once for each text, and the first that fails is named', () => {
    const [good, bad]: Variant[] = [{ labels: { a: '1' } }, { labels: {} }];
    const blueprint = new Blueprint([good as Variant, bad as Variant], undefined);
    const tested: Variant[] = [];
    const test = (variant: Variant): boolean => {
      tested.push(variant);
      return 'a' in variant.labels;
    };
    expect([blueprint.firstFailing('a', test), blueprint.firstFailing('a', test)]).toEqual([
      bad,
      bad,
    ]);
    expect(tested).toEqual([good, bad]);
    expect(blueprint.firstFailing('all', () => true)).toBeUndefined();
  });
});

describe('what a node holds', () => {
  const running = podOf('runs', { phase: 'Running' });
  test('is what runs and is promised, but neither finished pods nor those that are planned anew', () => {
    const pods = [
      running,
      podOf('done', { phase: 'Succeeded' }),
      podOf('broken', { phase: 'Failed' }),
      podOf('moving', { phase: 'Running' }),
    ];
    const node = nodeOf('n', { pods, promisedPods: [podOf('promised'), podOf('moving-too')] });
    const [host] = hostsFor([], [node], new Map(), ['moving', 'moving-too']);
    expect(host?.running.map(({ uid }) => uid)).toEqual(['runs', 'promised']);
  });

  test('is planned by the uid of a node and by the id of a new one', () => {
    const [p, q] = [podOf('p'), podOf('q')];
    const hosts = hostsFor(
      [bin([option('m.2', 'a')])],
      [nodeOf('n')],
      new Map([
        ['node node-n', [p]],
        ['bin bin-0', [q]],
      ]),
    );
    expect(hosts.map((host) => [host.name, host.planned])).toEqual([
      ['n', [p]],
      ['bin-0', [q]],
    ]);
  });

  test('is kept away by the taints of the pool, or of the claim where the pool is gone', () => {
    const taints = [{ key: 'claim', effect: 'NoSchedule' as const }];
    const known = hostFor([bin([], { taints })]);
    const gone = hostFor([bin([], { taints, pool: { kind: 'NodePool', name: 'gone' } })]);
    expect([known, gone].map((host) => host.taints[0]?.key)).toEqual(['pool', 'claim']);
  });
});
