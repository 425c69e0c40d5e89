import type { Pod, TopologySpreadConstraint } from '@dovetail/core-kube-model';
import { requirementsOf } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { ExistingNode } from '../snapshot.js';
import { hostsOf, topologyOf } from '../testing/hosts.js';
import { nodeOf, podOf, podsOf, selecting, snapshotOf } from '../testing/objects.js';
import { spreadViolations } from './spread.js';

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const over = (rule: Partial<TopologySpreadConstraint> = {}): Partial<Pod> => ({
  labels: { app: 'web' },
  topologySpread: [
    {
      maxSkew: 1,
      topologyKey: zoneKey,
      whenUnsatisfiable: 'DoNotSchedule',
      selector: selecting({ app: 'web' }),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
      ...rule,
    },
  ],
});
const carriers = (prefix: string, count: number, rule?: Partial<TopologySpreadConstraint>) =>
  podsOf(prefix, count, over(rule));
const running = (count: number): readonly Pod[] =>
  podsOf('run', count, { labels: { app: 'web' }, phase: 'Running' });

type Place = {
  readonly node?: Partial<ExistingNode>;
  readonly running?: readonly Pod[];
  readonly planned?: readonly Pod[];
};
/** One node a place, in the zone of its name unless its labels say otherwise. */
function found(
  places: Readonly<Record<string, Place>>,
  hostnameSpread: 'balanced' | 'strict' = 'balanced',
  about: (name: string) => boolean = () => true,
): readonly string[] {
  const nodes = Object.entries(places).map(([name, { node, running: pods = [] }]) =>
    nodeOf(name, { labels: { [zoneKey]: name }, pods, ...node }),
  );
  const snapshot = snapshotOf({ nodes });
  const podsOn = new Map(
    Object.entries(places).map(([name, { planned = [] }]) => [`node node-${name}`, planned]),
  );
  const hosts = hostsOf(snapshot, { newNodes: [], podsOn }, new Set());
  const options = { ...defaultPlanOptions, hostnameSpread };
  return spreadViolations(topologyOf(hosts, snapshot, ({ name }) => about(name), options)).map(
    ({ where, message }) => `${where}: ${message}`,
  );
}

describe('spread over zones', () => {
  const skew = (zone: string, here: number, least: number, maxSkew = 1) => [
    `${zone}: ${here} pods in ${zoneKey}=${zone}, ${least} in the emptiest domain, maxSkew ${maxSkew}`,
  ];
  const tainted = { taints: [{ key: 'x', effect: 'NoSchedule' as const }] };
  test.each<[string, Readonly<Record<string, Place>>, readonly string[]]>([
    ['is kept', { a: { planned: carriers('p', 2) }, b: { planned: carriers('q', 1) } }, []],
    ['is broken by an empty zone', { a: { planned: carriers('p', 2) }, b: {} }, skew('a', 2, 0)],
    ['allows its skew', { a: { planned: carriers('p', 2, { maxSkew: 2 }) }, b: {} }, []],
    ['counts one zone as its own minimum', { a: { planned: carriers('p', 9) } }, []],
    [
      'counts the emptiest as nothing where minDomains are lacking',
      { a: { planned: carriers('p', 2, { minDomains: 2 }) } },
      skew('a', 2, 0),
    ],
    [
      'counts pods that run',
      { a: { running: running(1), planned: carriers('p', 1) }, b: {} },
      skew('a', 2, 0),
    ],
    [
      'does not judge zones without a planned carrier',
      { a: { running: running(5) }, b: { planned: carriers('p', 1) } },
      [],
    ],
    [
      'counts planned pods that are merely selected for the emptiest zone',
      {
        a: { planned: carriers('p', 2) },
        b: { planned: podsOf('q', 1, { labels: { app: 'web' } }) },
      },
      [],
    ],
    [
      'but not as excess',
      {
        a: { planned: [...carriers('p', 1), ...podsOf('q', 5, { labels: { app: 'web' } })] },
        b: {},
      },
      [],
    ],
    [
      'does not bind pods that may go anyway',
      { a: { planned: carriers('p', 5, { whenUnsatisfiable: 'ScheduleAnyway' }) }, b: {} },
      [],
    ],
    [
      'does not count pods of other namespaces',
      {
        a: {
          running: running(1).map((pod) => ({ ...pod, namespace: 'x' })),
          planned: carriers('p', 1),
        },
        b: {},
      },
      [],
    ],
    [
      'counts a tainted zone',
      { a: { planned: carriers('p', 2) }, b: { node: tainted } },
      skew('a', 2, 0),
    ],
    [
      'but not with nodeTaintsPolicy Honor',
      { a: { planned: carriers('p', 2, { nodeTaintsPolicy: 'Honor' }) }, b: { node: tainted } },
      [],
    ],
    [
      'does not count a zone that the pod does not accept',
      {
        a: {
          planned: carriers('p', 2).map((pod) => ({ ...pod, nodeSelector: { [zoneKey]: 'a' } })),
        },
        b: {},
      },
      [],
    ],
    [
      'but does with nodeAffinityPolicy Ignore',
      {
        a: {
          planned: carriers('p', 2, { nodeAffinityPolicy: 'Ignore' }).map((pod) => ({
            ...pod,
            nodeSelector: { [zoneKey]: 'a' },
          })),
        },
        b: {},
      },
      skew('a', 2, 0),
    ],
    [
      'is broken by a node without a zone',
      { a: { node: { labels: {} }, planned: carriers('p', 1) } },
      [`a: the node's ${zoneKey} is not set, but a pod there is spread over it`],
    ],
    [
      'is broken by a node whose zone is not decided',
      {
        a: {
          node: {
            labels: {},
            requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: ['a', 'b'] }]),
          },
          planned: carriers('p', 1),
        },
      },
      [`a: the node's ${zoneKey} is still open, but a pod there is spread over it`],
    ],
    [
      'is told once for many pods of one rule',
      { a: { planned: carriers('p', 7) }, b: { planned: carriers('q', 2) } },
      skew('a', 7, 2),
    ],
  ])('%s', (_, places, expected) => expect(found(places)).toEqual(expected));

  test('is judged on the nodes that are asked about only', () => {
    const places = { a: { planned: carriers('p', 2) }, b: {} };
    expect(found(places, 'balanced', (name) => name === 'b')).toEqual([]);
  });
});

describe('spread over hosts', () => {
  const two = { planned: carriers('p', 2, { topologyKey: hostKey }) };
  test.each<['balanced' | 'strict', number]>([
    ['balanced', 0],
    ['strict', 1],
  ])('that is %s has %d faults when all nodes have two pods', (hostnameSpread, faults) => {
    expect(found({ a: two }, hostnameSpread)).toHaveLength(faults);
  });
});

test('zones that are filled in turn keep every skew, and one pod too many breaks it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 1, max: 3 }),
      (zones, count, maxSkew) => {
        const names = Array.from({ length: zones }, (_, index) => `z${index}`);
        const pods = carriers('p', count, { maxSkew });
        const inTurn = names.map((_, zone) => pods.filter((__, index) => index % zones === zone));
        const places = (lists: readonly (readonly Pod[])[]) =>
          Object.fromEntries(names.map((name, index) => [name, { planned: lists[index] ?? [] }]));
        expect(found(places(inTurn))).toEqual([]);
        const [first = [], ...others] = inTurn;
        const least = Math.min(...others.map((list) => list.length));
        const extra = maxSkew + 1 - (first.length - least);
        const more = Array.from({ length: extra }, (_, index) =>
          podOf(`extra-${index}`, over({ maxSkew })),
        );
        expect(found(places([[...first, ...more], ...others]))).toHaveLength(1);
      },
    ),
    { seed: 1 },
  );
});
