import type { Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import { requirementsOf } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { ExistingNode } from '../snapshot.js';
import { hostsOf, topologyOf } from '../testing/hosts.js';
import { nodeOf, podOf, selecting, snapshotOf } from '../testing/objects.js';
import { affinityViolations, antiAffinityViolations, ruleTexts, textOf } from './topology.js';

const zoneKey = 'topology.kubernetes.io/zone';
const term = (app: string, over: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({
  topologyKey: zoneKey,
  selector: selecting({ app }),
  namespaces: [],
  ...over,
});
const plain = (uid: string, app: string, over: Partial<Pod> = {}): Pod =>
  podOf(uid, { labels: { app }, ...over });
const near = (uid: string, app: string, target: string, over?: Partial<PodAffinityTerm>): Pod =>
  plain(uid, app, { requiredPodAffinity: [term(target, over)] });
const far = (uid: string, app: string, target: string, over?: Partial<PodAffinityTerm>): Pod =>
  plain(uid, app, { requiredPodAntiAffinity: [term(target, over)] });

type Place = {
  readonly node?: Partial<ExistingNode>;
  readonly running?: readonly Pod[];
  readonly planned?: readonly Pod[];
};
type Places = Readonly<Record<string, Place>>;
/** One node a place, in the zone of its name's first letter unless its labels say otherwise. */
function found(places: Places, about: (name: string) => boolean = () => true): readonly string[] {
  const nodes = Object.entries(places).map(([name, { node, running: pods = [] }]) =>
    nodeOf(name, { labels: { [zoneKey]: name.charAt(0) }, pods, ...node }),
  );
  const namespaces = ['default', 'other'].map((name) => ({
    uid: `ns-${name}`,
    name,
    resourceVersion: '1',
    labels: { name },
  }));
  const snapshot = snapshotOf({ nodes, namespaces });
  const podsOn = new Map(
    Object.entries(places).map(([name, { planned = [] }]) => [`node node-${name}`, planned]),
  );
  const hosts = hostsOf(snapshot, { newNodes: [], podsOn }, new Set());
  const topology = topologyOf(hosts, snapshot, ({ name }) => about(name));
  return [affinityViolations, antiAffinityViolations].flatMap((judge) =>
    judge(topology).map(({ code, where }) => `${code} at ${where}`),
  );
}
const open: Partial<ExistingNode> = {
  labels: {},
  requirements: requirementsOf([{ key: zoneKey, operator: 'In', values: ['a', 'b'] }]),
};

describe('a pod that must be with others', () => {
  test.each<[string, Places, readonly string[]]>([
    [
      'is with one that runs in its zone',
      { a1: { running: [plain('db', 'db')] }, a2: { planned: [near('p', 'web', 'db')] } },
      [],
    ],
    [
      'is with one that is planned there',
      { a: { planned: [near('p', 'web', 'db'), plain('db', 'db')] } },
      [],
    ],
    [
      'is in another zone',
      { a: { running: [plain('db', 'db')] }, b: { planned: [near('p', 'web', 'db')] } },
      ['pod-affinity at b'],
    ],
    ['is alone', { a: { planned: [near('p', 'web', 'db')] } }, ['pod-affinity at a']],
    [
      'is with one that is on its way out',
      { a: { running: [plain('db', 'db', { deletionMs: 1 })], planned: [near('p', 'web', 'db')] } },
      ['pod-affinity at a'],
    ],
    [
      'is with one of another namespace',
      {
        a: {
          running: [plain('db', 'db', { namespace: 'other' })],
          planned: [near('p', 'web', 'db')],
        },
      },
      ['pod-affinity at a'],
    ],
    [
      'names that namespace',
      {
        a: {
          running: [plain('db', 'db', { namespace: 'other' })],
          planned: [near('p', 'web', 'db', { namespaces: ['other'] })],
        },
      },
      [],
    ],
    [
      'selects that namespace',
      {
        a: {
          running: [plain('db', 'db', { namespace: 'other' })],
          planned: [near('p', 'web', 'db', { namespaceSelector: selecting({ name: 'other' }) })],
        },
      },
      [],
    ],
    ['starts by itself', { a: { planned: [near('p', 'web', 'web')] } }, []],
    [
      'starts with others of its kind in one zone',
      { a1: { planned: [near('p', 'web', 'web')] }, a2: { planned: [near('q', 'web', 'web')] } },
      [],
    ],
    [
      'starts in two zones at once',
      { a: { planned: [near('p', 'web', 'web')] }, b: { planned: [near('q', 'web', 'web')] } },
      ['pod-affinity at a', 'pod-affinity at b'],
    ],
    [
      'does not start where one runs already',
      { a: { running: [plain('w', 'web')] }, b: { planned: [near('p', 'web', 'web')] } },
      ['pod-affinity at b'],
    ],
    [
      'does not start where one runs in a zone that is not decided',
      {
        a: { planned: [near('p', 'web', 'web')] },
        x: { node: open, running: [plain('w', 'web')] },
      },
      ['pod-affinity at a'],
    ],
    [
      'is in a zone that the others may not come to',
      { a: { planned: [near('p', 'web', 'db')] }, x: { node: open, running: [plain('db', 'db')] } },
      ['pod-affinity at a'],
    ],
    [
      'starts where one runs on a node without a zone',
      {
        a: { planned: [near('p', 'web', 'web')] },
        x: { node: { labels: {} }, running: [plain('w', 'web')] },
      },
      [],
    ],
    [
      'is on a node without a zone',
      { a: { node: { labels: {} }, planned: [near('p', 'web', 'web')] } },
      ['pod-affinity at a'],
    ],
    [
      'is on a node whose zone is not decided',
      { a: { node: open, planned: [near('p', 'web', 'web')] } },
      ['pod-affinity at a'],
    ],
  ])('%s', (_, places, expected) => expect(found(places)).toEqual(expected));
});

describe('a pod that must be apart from others', () => {
  test.each<[string, Places, readonly string[]]>([
    ['is alone', { a: { planned: [far('p', 'web', 'web')] } }, []],
    [
      'is in another zone',
      { a: { running: [plain('db', 'db')] }, b: { planned: [far('p', 'web', 'db')] } },
      [],
    ],
    [
      'shares a zone with one that runs',
      { a1: { running: [plain('db', 'db')] }, a2: { planned: [far('p', 'web', 'db')] } },
      ['pod-anti-affinity at a2'],
    ],
    [
      'runs in the zone of one that is planned',
      { a1: { running: [far('p', 'web', 'db')] }, a2: { planned: [plain('db', 'db')] } },
      ['pod-anti-affinity at a2'],
    ],
    [
      'runs beside one that runs, which no plan can help',
      { a: { running: [far('p', 'web', 'db'), plain('db', 'db')] } },
      [],
    ],
    [
      'is beside one on its way out',
      { a: { running: [plain('db', 'db', { deletionMs: 1 })], planned: [far('p', 'web', 'db')] } },
      [],
    ],
    [
      'is beside one of another namespace',
      {
        a: {
          running: [plain('db', 'db', { namespace: 'other' })],
          planned: [far('p', 'web', 'db')],
        },
      },
      [],
    ],
    [
      'is on a node that may come to be in that zone',
      { a: { running: [plain('db', 'db')] }, x: { node: open, planned: [far('p', 'web', 'db')] } },
      ['pod-anti-affinity at x'],
    ],
    [
      'is on a node without a zone',
      {
        a: { node: { labels: {} }, running: [plain('db', 'db')], planned: [far('p', 'web', 'db')] },
      },
      [],
    ],
  ])('%s', (_, places, expected) => expect(found(places)).toEqual(expected));

  test('is judged where either node is asked about', () => {
    const places = {
      a1: { running: [plain('w', 'db')] },
      a2: { planned: [far('p', 'web', 'db')] },
    };
    const about = (asked: string) => found(places, (name) => name === asked);
    expect([about('a1'), about('a2'), about('x')]).toEqual([
      ['pod-anti-affinity at a2'],
      ['pod-anti-affinity at a2'],
      [],
    ]);
  });

  test('with others of its kind: faults exactly where two share a zone', () => {
    const zones = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 6 });
    fc.assert(
      fc.property(zones, (chosen) => {
        const places = Object.fromEntries(
          chosen.map((zone, index) => [
            `${zone}${index}`,
            { planned: [far(`p${index}`, 'web', 'web')] },
          ]),
        );
        const crowded = chosen.filter((zone) => chosen.filter((one) => one === zone).length > 1);
        expect(found(places)).toHaveLength(crowded.length);
      }),
      { seed: 1 },
    );
  });
});

describe('the texts that stand for rules', () => {
  test('list a set in order', () => {
    expect(textOf({ in: new Set(['b', 'a']) })).toBe(textOf({ in: new Set(['a', 'b']) }));
    expect(textOf(new Set(['a']))).not.toBe(textOf(new Set(['b'])));
  });

  test('are written once for a pod', () => {
    let written = 0;
    const texts = ruleTexts((pod) => [`${pod.uid} ${(written += 1)}`]);
    const pod = podOf('p');
    expect([texts(pod), texts(pod), texts(podOf('p'))]).toEqual([['p 1'], ['p 1'], ['p 2']]);
  });
});
