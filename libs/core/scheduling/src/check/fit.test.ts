import { type HostPort, type Pod, requirementsOf } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { BinOption, NewNode } from '../plan.js';
import type { ExistingNode, PlanOptions, Snapshot } from '../snapshot.js';
import { hostsOf } from '../testing/hosts.js';
import {
  daemonSetOf,
  gibibytes,
  nodeOf,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { hostViolations } from './fit.js';

const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: ['a', 'b'].map((zone) => offeringOf(zone, 'on-demand', cores * 100)),
  }),
);
const typeKey = 'node.kubernetes.io/instance-type';
const option = (cores: number, zone = 'a'): BinOption => ({
  instanceType: `m.${cores}`,
  zone,
  capacityType: 'on-demand',
  priceMicrosPerHour: cores * 100,
});
const cores = (count: number) => ({ requests: { cpu: count * 1000, memory: 1 } });
type World = { readonly snapshot?: Partial<Snapshot>; readonly options?: Partial<PlanOptions> };

const judge = (
  newNodes: readonly NewNode[],
  pods: readonly Pod[],
  { snapshot, options }: World,
): readonly string[] => {
  const made = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    ...snapshot,
  });
  const podsOn = new Map([
    ['bin b', pods],
    ['node node-n', pods],
  ]);
  const judged = { ...defaultPlanOptions, ...options };
  const codes = hostsOf(made, { newNodes, podsOn }, new Set())
    .flatMap((host) => hostViolations(host, made, judged))
    .map(({ code }) => code);
  return [...new Set(codes)];
};
/** Returns the violations of pods on an existing node. */
const onNode = (pods: readonly Pod[], node: Partial<ExistingNode> = {}, world: World = {}) =>
  judge([], pods, { ...world, snapshot: { nodes: [nodeOf('n', node)], ...world.snapshot } });
/** Returns the violations of pods on a new node. */
const onNew = (
  pods: readonly Pod[],
  options: readonly BinOption[],
  world: World = {},
  over: Partial<NewNode> = {},
) =>
  judge(
    [
      {
        id: 'b',
        pool: { kind: 'NodePool', name: 'default' },
        options,
        requirements: [],
        labels: {},
        taints: [],
        requests: {},
        podUids: pods.map(({ uid }) => uid),
        topologyGroups: [],
        minValuesRelaxed: false,
        notes: [],
        ...over,
      },
    ],
    pods,
    world,
  );

describe('a node of four cores that exists', () => {
  const busy = podsOf('run', 3, { phase: 'Running', ...cores(1) });
  const agent = daemonSetOf('agent', cores(1));
  const over = podOf('over', { phase: 'Running', requests: { cpu: 0, memory: gibibytes(99) } });
  test.each<[string, readonly Pod[], Partial<ExistingNode>, Partial<Snapshot>, readonly string[]]>([
    ['holds four', podsOf('p', 4, cores(1)), {}, {}, []],
    ['does not hold five', podsOf('p', 5, cores(1)), {}, {}, ['node-full']],
    ['holds one beside three that run', [podOf('p', cores(1))], { pods: busy }, {}, []],
    ['does not hold two beside them', podsOf('p', 2, cores(1)), { pods: busy }, {}, ['node-full']],
    ['holds what is promised', podsOf('p', 2, cores(1)), { promisedPods: busy }, {}, ['node-full']],
    [
      'keeps what is reserved',
      podsOf('p', 4, cores(1)),
      { reserved: { cpu: 1 } },
      {},
      ['node-full'],
    ],
    [
      'keeps room for a daemonset that is not there yet',
      podsOf('p', 4, cores(1)),
      {},
      { daemonSets: [agent] },
      ['node-full'],
    ],
    [
      'but not for one whose pod is there',
      podsOf('p', 4, cores(1)),
      {
        pods: [
          podOf('agent', {
            phase: 'Running',
            requests: { cpu: 0, memory: 0 },
            owner: { uid: agent.uid, kind: 'DaemonSet', name: 'agent', apiVersion: 'apps/v1' },
          }),
        ],
      },
      { daemonSets: [agent] },
      [],
    ],
    [
      'nor for one that does not run there',
      podsOf('p', 4, cores(1)),
      {},
      { daemonSets: [daemonSetOf('arm', { ...cores(1), nodeSelector: { arch: 'x' } })] },
      [],
    ],
    [
      'keeps room for a daemonset of a zone that it may be launched in',
      podsOf('p', 4, cores(1)),
      {
        state: 'in-flight',
        requirements: requirementsOf([
          { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a', 'b'] },
        ]),
      },
      {
        daemonSets: [
          daemonSetOf('d', { ...cores(1), nodeSelector: { 'topology.kubernetes.io/zone': 'b' } }),
        ],
      },
      ['node-full'],
    ],
    [
      'that is short of memory takes pods that ask for none',
      [podOf('p', { requests: { cpu: 1, memory: 0 } })],
      { pods: [over] },
      {},
      [],
    ],
    ['but none that asks for some', [podOf('p')], { pods: [over] }, {}, ['node-full']],
    ['takes nothing while it is cordoned', [podOf('p')], { cordoned: true }, {}, ['node-cordoned']],
    [
      'takes nothing while it is being deleted',
      [podOf('p')],
      { state: 'deleting' },
      {},
      ['node-cordoned'],
    ],
    ['is not judged without planned pods', [], { cordoned: true }, {}, []],
  ])('%s', (_, pods, node, snapshot, expected) => {
    expect(onNode(pods, node, { snapshot })).toEqual(expected);
  });
});

describe('two pods with host ports on one node', () => {
  const port = (over: Partial<HostPort> = {}): HostPort => ({
    ip: '',
    port: 80,
    protocol: 'TCP',
    ...over,
  });
  test.each<[string, HostPort, HostPort, boolean]>([
    ['the same', port(), port(), true],
    ['different', port(), port({ port: 81 }), false],
    ['of different protocols', port(), port({ protocol: 'UDP' }), false],
    ['of different addresses', port({ ip: '10.0.0.1' }), port({ ip: '10.0.0.2' }), false],
    ['of the same address', port({ ip: '10.0.0.1' }), port({ ip: '10.0.0.1' }), true],
    ['of any address and of one', port({ ip: '0.0.0.0' }), port({ ip: '10.0.0.1' }), true],
    ['of one address and of any', port({ ip: '10.0.0.1' }), port({ ip: '::' }), true],
  ])('that are %s', (_, one, other, clash) => {
    const expected = clash ? ['host-port'] : [];
    const [p, q] = [podOf('p', { hostPorts: [one] }), podOf('q', { hostPorts: [other] })];
    expect(onNode([p, q])).toEqual(expected);
    expect(onNode([p], { pods: [{ ...q, phase: 'Running' }] })).toEqual(expected);
    expect(onNew([p, q], [option(2)])).toEqual(expected);
  });
});

describe('a new node', () => {
  const minValues = (key: string, count: number): Partial<Snapshot> => ({
    pools: [
      {
        pool: poolOf('default', {
          requirements: [{ key, operator: 'Exists', values: [], minValues: count }],
        }),
        instanceTypes: types,
      },
    ],
  });
  const one = [podOf('p')];
  const inZone = (zone: string) => ({ nodeSelector: { 'topology.kubernetes.io/zone': zone } });
  test.each<[string, readonly string[], readonly string[]]>([
    ['holds pods on every option', onNew(podsOf('p', 2, cores(1)), [option(2), option(4)]), []],
    [
      'does not hold them on one',
      onNew(podsOf('p', 3, cores(1)), [option(2), option(4)]),
      ['resources-too-large'],
    ],
    [
      'keeps room for daemonsets',
      onNew(podsOf('p', 2, cores(1)), [option(2)], {
        snapshot: { daemonSets: [daemonSetOf('d')] },
      }),
      ['resources-too-large'],
    ],
    [
      'keeps no room for daemonsets of other zones',
      onNew(podsOf('p', 2, cores(1)), [option(2)], {
        snapshot: { daemonSets: [daemonSetOf('d', inZone('b'))] },
      }),
      [],
    ],
    [
      'keeps room for daemonsets of one of its zones',
      onNew(podsOf('p', 2, cores(1)), [option(2), option(2, 'b')], {
        snapshot: { daemonSets: [daemonSetOf('d', inZone('b'))] },
      }),
      ['resources-too-large'],
    ],
    [
      'keeps room for daemonsets where its claim lets another type be launched',
      onNew(podsOf('p', 2, cores(1)), [option(2), option(4, 'b')], {
        snapshot: { daemonSets: [daemonSetOf('d', inZone('b'))] },
      }),
      ['resources-too-large'],
    ],
    [
      'keeps room for daemonsets that wait until it is initialized',
      onNew(podsOf('p', 2, cores(1)), [option(2)], {
        snapshot: {
          daemonSets: [daemonSetOf('d', { nodeSelector: { 'karpenter.sh/initialized': 'true' } })],
        },
      }),
      ['resources-too-large'],
    ],
    ['has an option', onNew(one, []), ['no-offering']],
    ['has options by price', onNew(one, [option(4), option(2)]), ['wrong-price']],
    [
      'has as many types as are allowed',
      onNew(one, [option(2, 'a'), option(2, 'b')], { options: { instanceTypesMax: 1 } }),
      [],
    ],
    [
      'has no more types than that',
      onNew(one, [option(2), option(4)], { options: { instanceTypesMax: 1 } }),
      ['no-offering'],
    ],
    [
      'keeps as many values as are demanded',
      onNew(one, [option(2, 'a'), option(4, 'a')], { snapshot: minValues(typeKey, 2) }),
      [],
    ],
    [
      'keeps the zones that its types are sold in, though it is bound to one',
      onNew(one, [option(2, 'a')], { snapshot: minValues('topology.kubernetes.io/zone', 2) }),
      [],
    ],
    [
      'does not keep fewer',
      onNew(one, [option(2, 'a')], { snapshot: minValues(typeKey, 2) }),
      ['min-values'],
    ],
    [
      'does not keep fewer because it says so',
      onNew(one, [option(2, 'a')], { snapshot: minValues(typeKey, 2) }, { minValuesRelaxed: true }),
      ['min-values'],
    ],
    [
      'may keep fewer where the policy is BestEffort and it says so',
      onNew(
        one,
        [option(2, 'a')],
        { snapshot: minValues(typeKey, 2), options: { minValuesPolicy: 'BestEffort' } },
        { minValuesRelaxed: true },
      ),
      [],
    ],
  ])('%s', (_, codes, expected) => expect(codes).toEqual(expected));
});

test('a new node holds its pods exactly when their sum is at most what its smallest option has', () => {
  const asks = fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(asks, fc.boolean(), (cpus, large) => {
      const pods = cpus.map((cpu, index) => podOf(`p${index}`, { requests: { cpu, memory: 1 } }));
      const room = large ? 4000 : 2000;
      const held = cpus.reduce((sum, cpu) => sum + cpu, 0) <= room;
      const options = large ? [option(4)] : [option(2), option(4)];
      expect(onNew(pods, options)).toEqual(held ? [] : ['resources-too-large']);
    }),
    { seed: 1 },
  );
});
