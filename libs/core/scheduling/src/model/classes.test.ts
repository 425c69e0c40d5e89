import type { Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import type { Snapshot } from '../snapshot.js';
import { podOf, poolOf, selecting, snapshotOf } from '../testing/objects.js';
import { boundTo, claimOf, inZones, volumeOf } from '../testing/storage.js';
import { mixedWorld } from '../testing/worlds.js';
import { worldOf } from '../world/world.js';
import { Selections } from './classes.js';
import { groupSelects } from './groups.js';
import { selectorKeysOf } from './selection.js';

const classesFor = (pods: readonly Pod[], over: Partial<Snapshot> = {}) =>
  worldOf(snapshotOf(over), pods, defaultPlanOptions).classes;
const requesting = (cpu: number, memory: number): Partial<Pod> => ({ requests: { cpu, memory } });
const term = (app: string): PodAffinityTerm => ({
  topologyKey: 'zone',
  selector: selecting({ app }),
  namespaces: [],
});
const expression = { key: 'disk', operator: 'In' as const, values: ['ssd'] };

describe('classes of pods', () => {
  test.each<[string, readonly Pod[], readonly (readonly string[])[]]>([
    [
      'hold equal pods, oldest first',
      [podOf('a', { createdMs: 2 }), podOf('b', { createdMs: 1 })],
      [['b', 'a']],
    ],
    ['hold pods of one age by uid', [podOf('b'), podOf('a')], [['a', 'b']]],
    [
      'begin with the most cpu',
      [podOf('a', requesting(100, 9)), podOf('b', requesting(200, 1))],
      [['b'], ['a']],
    ],
    [
      'go on with the most memory',
      [podOf('a', requesting(100, 1)), podOf('b', requesting(100, 9))],
      [['b'], ['a']],
    ],
    [
      'go on with the oldest',
      [podOf('a', { createdMs: 2, nodeSelector: { x: '1' } }), podOf('b', { createdMs: 1 })],
      [['b'], ['a']],
    ],
    ['hold a pod once that is asked for twice', [podOf('a'), podOf('a')], [['a']]],
  ])('%s', (_what, pods, uids) => {
    expect(classesFor(pods).map((cls) => cls.uids)).toEqual(uids);
    expect(classesFor([...pods].reverse()).map((cls) => cls.uids)).toEqual(uids);
  });

  test('are numbered in their order, and share levels where only requests differ', () => {
    const pods = [podOf('a', requesting(1, 1)), podOf('b', requesting(2, 1))];
    const [first, second] = classesFor(pods);
    expect([first?.index, second?.index]).toEqual([0, 1]);
    expect(first?.levels).toBe(second?.levels);
  });
});

describe('a class is refused at once', () => {
  test.each<[string, Partial<Pod>, string]>([
    ['for a scheduling gate', { schedulingGates: ['wait'] }, 'scheduling-gate'],
    ['for a resource claim', { resourceClaims: ['gpu'] }, 'resource-claims'],
    [
      'for fields that name a node',
      { requiredNodeAffinity: [{ matchExpressions: [], matchFields: [expression] }] },
      'match-fields-unsupported',
    ],
    [
      'for node affinity that matches no node',
      { requiredNodeAffinity: [{ matchExpressions: [], matchFields: [] }] },
      'requirement-mismatch',
    ],
    ['for node affinity without terms', { requiredNodeAffinity: [] }, 'requirement-mismatch'],
    ['for a claim that does not exist', { volumes: [{ claimName: 'x' }] }, 'volume'],
    [
      'for the gate first, if there are two reasons',
      { schedulingGates: ['wait'], volumes: [{ claimName: 'x' }] },
      'scheduling-gate',
    ],
  ])('%s', (_what, over, code) => {
    const [cls] = classesFor([podOf('a', over)]);
    expect(cls?.refusal?.code).toBe(code);
    expect(cls?.levels).toEqual([]);
  });

  test.each<[string, Partial<Pod>]>([
    ['for nothing', {}],
    [
      'for an empty term beside one with expressions',
      {
        requiredNodeAffinity: [
          { matchExpressions: [], matchFields: [] },
          { matchExpressions: [expression], matchFields: [] },
        ],
      },
    ],
  ])('but not %s', (_what, over) => {
    expect(classesFor([podOf('a', over)]).map(({ refusal }) => refusal)).toEqual([undefined]);
  });
});

describe('what a class insists on', () => {
  test('is carried by its groups, preferences only at the levels that keep them', () => {
    const pod = podOf('a', {
      requiredPodAntiAffinity: [term('db')],
      preferredPodAffinity: [{ weight: 1, term: term('cache') }],
    });
    const [cls] = classesFor([pod]);
    expect(cls?.levels.map(({ carries }) => carries.map(({ kind, hard }) => [kind, hard]))).toEqual(
      [
        [
          ['affinity', false],
          ['anti', true],
        ],
        [['anti', true]],
      ],
    );
  });

  test('has a shape for each alternative of its volumes', () => {
    const [cls] = classesFor([podOf('a', { volumes: [{ claimName: 'data' }] })], {
      persistentVolumes: [volumeOf('v', { nodeAffinity: [inZones('a'), inZones('b')] })],
      persistentVolumeClaims: [claimOf('data', boundTo('v'))],
    });
    const zone = 'topology.kubernetes.io/zone';
    expect(
      cls?.levels[0]?.shapes.map(({ requirements }) => [...(requirements.get(zone)?.values ?? [])]),
    ).toEqual([['a'], ['b']]);
    expect(cls?.attachments).toEqual([{ driver: 'ebs.csi.aws.com', id: 'v' }]);
  });

  test('includes taints of PreferNoSchedule, at first, where an open pool has one', () => {
    const taints = [{ key: 'old', effect: 'PreferNoSchedule' as const }];
    const tolerated = (ready: boolean) =>
      classesFor([podOf('a')], {
        pools: [{ pool: poolOf('default', { taints, ready }), instanceTypes: [] }],
      })[0]?.levels.map(({ shapes }) => shapes[0]?.toleratesPreferred);
    expect(tolerated(true)).toEqual([false, true]);
    expect(tolerated(false)).toEqual([true]);
  });

  test('counts it in groups of other pods', () => {
    const [web, db] = classesFor([
      podOf('web', { labels: { app: 'web' }, requests: { cpu: 200 } }),
      podOf('db', { labels: { app: 'db' }, requiredPodAntiAffinity: [term('web')] }),
    ]);
    expect(web?.selectedBy.map(({ kind }) => kind)).toEqual(['anti']);
    expect(web?.levels[0]?.carries).toEqual([]);
    expect(db?.selectedBy).toEqual([]);
  });
});

test('the groups that select a pod are those whose selector does, in every generated world', () => {
  let met = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    const { snapshot, pods, options } = mixedWorld(seed);
    const { groups } = worldOf(snapshot, pods, options);
    const selections = new Selections({ groups, selection: selectorKeysOf(pods, snapshot) });
    for (const pod of pods) {
      const found = selections.of(pod);
      met += found.length;
      expect(found).toEqual(groups.groups.filter((group) => groupSelects(group, pod)));
    }
  }
  expect(met).toBeGreaterThan(100);
});
