import { present } from '@dovetail/core-invariant';
import type { Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import { defaultPlanOptions } from '../options.js';
import { domainRoom } from '../rooms/domain-room.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import { candidatesOf, canOpen } from '../rooms/pinned-items.js';
import type { ExistingNode, PlanOptions } from '../snapshot.js';
import { nodeOf, podOf, podsOf, poolOf, selecting, snapshotOf } from '../testing/objects.js';
import { asking, rules, typesBy } from '../testing/packing.js';
import { mixedWorld } from '../testing/worlds.js';
import { rolesOf } from '../topology/roles.js';
import { worldOf } from '../world/world.js';
import { codeOf, lateReason, ruleText, topologyReason } from './topology.js';

fc.configureGlobal({ seed: 1 });

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const types = typesBy([4, 16, 100]);
const term = (topologyKey: string, app: string): PodAffinityTerm => ({
  topologyKey,
  selector: selecting({ app }),
  namespaces: [],
});
const spreadOver = (topologyKey: string): Partial<Pod> => ({
  labels: { app: 'w' },
  topologySpread: rules.spread('w').topologySpread.map((one) => ({ ...one, topologyKey })),
});

type Over = {
  readonly nodes?: readonly ExistingNode[];
  /** Pods that are planned with the one that is asked about, which is the youngest. */
  readonly beside?: readonly Pod[];
  readonly options?: Partial<PlanOptions>;
};
function standing(pod: Partial<Pod>, { nodes = [], beside = [], options = {} }: Over) {
  const world = worldOf(
    snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: types }], nodes }),
    [...beside, podOf('asked', { createdMs: 9, ...pod })],
    { ...defaultPlanOptions, ...options },
  );
  const cls = present(
    world.classes.find(({ uids }) => uids.includes('asked')),
    'the pod has a class',
  );
  return { engine: compose(world).engine, cls };
}
/** Why no domain is open to a pod when the plan stands. */
function reasonFor(pod: Partial<Pod>, over: Over = {}) {
  const { engine, cls } = standing(pod, over);
  return topologyReason(engine, 'NodePool/default', cls);
}
const running = (zone: string, labels: Readonly<Record<string, string>>, over: Partial<Pod> = {}) =>
  nodeOf(`in-${zone}`, {
    cordoned: true,
    labels: { [zoneKey]: zone },
    pods: podsOf(`r-${zone}`, 2, { labels, ...over }),
  });

test('minDomains is among the remedies of a spread that has it', () => {
  const { topologySpread = [], ...rest } = spreadOver(zoneKey);
  const pod = { ...rest, topologySpread: topologySpread.map((one) => ({ ...one, minDomains: 9 })) };
  const nodes = ['zone-a', 'zone-b'].map((zone) => running(zone, { app: 'w' }));
  expect(reasonFor(pod, { nodes })).toMatchObject({
    code: 'topology-spread',
    remedy: expect.stringContaining('lower minDomains below 9'),
  });
});

describe('a rule that leaves no domain open', () => {
  test.each<[string, ReturnType<typeof reasonFor>, object]>([
    [
      'is spread over a label that no node has',
      reasonFor(spreadOver('rack')),
      { code: 'topology-spread', values: { key: 'rack', counts: '', maxSkew: '1' } },
    ],
    [
      'is spread over zones of which the emptiest takes no new nodes',
      reasonFor(spreadOver(zoneKey), {
        nodes: [
          running('zone-a', { app: 'w' }),
          running('zone-b', { app: 'w' }),
          nodeOf('empty', { cordoned: true, labels: { [zoneKey]: 'zone-c' } }),
        ],
      }),
      {
        code: 'topology-spread',
        values: { key: zoneKey, counts: 'zone-a=2,zone-b=2', maxSkew: '1' },
      },
    ],
    [
      'is affinity to pods that are nowhere',
      reasonFor({ requiredPodAffinity: [term(zoneKey, 'db')] }),
      { code: 'pod-affinity', values: { key: zoneKey } },
    ],
    [
      'is affinity to pods that are nowhere, on one node',
      reasonFor({ requiredPodAffinity: [term(hostKey, 'db')] }),
      { code: 'pod-affinity', values: { key: hostKey } },
    ],
    [
      'is anti-affinity to pods that run in every zone',
      reasonFor(
        { requiredPodAntiAffinity: [term(zoneKey, 'w')] },
        { nodes: [running('zone-a', { app: 'w' }), running('zone-b', { app: 'w' })] },
      ),
      { code: 'pod-anti-affinity', values: { key: zoneKey, counts: 'zone-a=2,zone-b=2' } },
    ],
    [
      'is the anti-affinity of others',
      reasonFor(
        { labels: { app: 'w' } },
        {
          nodes: ['zone-a', 'zone-b'].map((zone) =>
            running(zone, {}, { requiredPodAntiAffinity: [term(zoneKey, 'w')] }),
          ),
        },
      ),
      { code: 'pod-anti-affinity', values: { key: zoneKey } },
    ],
  ])('%s', (_, reason, expected) => {
    expect(reason).toMatchObject({ subject: 'NodePool/default', ...expected });
    expect(reason?.remedy).toEqual(expect.any(String));
    expect(reason?.message).toContain((expected as { values: { key: string } }).values.key);
  });

  test('may be two that only together do', () => {
    const reason = reasonFor(
      {
        requiredPodAffinity: [term(zoneKey, 'db')],
        requiredPodAntiAffinity: [term(zoneKey, 'noisy')],
      },
      {
        nodes: [running('zone-a', { app: 'db' }), running('zone-b', { app: 'web' })].map((node) =>
          node.name === 'in-zone-a'
            ? { ...node, pods: [...node.pods, podOf('noise', { labels: { app: 'noisy' } })] }
            : node,
        ),
      },
    );
    expect(reason?.message).toContain('zone-a=2');
    expect(reason?.message).toContain('zone-a=1');
    expect(reason?.message).toContain(`affinity over ${zoneKey}`);
    expect(reason?.message).toContain(`anti-affinity over ${zoneKey}`);
  });

  test('and was open before this plan is told with the pods that closed it', () =>
    expect(
      reasonFor(
        { labels: { app: 'w' }, requiredPodAntiAffinity: [term(zoneKey, 'w')] },
        {
          beside: podsOf('first', 2, {
            labels: { app: 'w' },
            requiredPodAntiAffinity: [term(zoneKey, 'w')],
            ...asking(1, 1),
          }),
        },
      ),
    ).toMatchObject({
      code: 'displaced',
      values: {
        rule: 'pod-anti-affinity',
        key: zoneKey,
        by: 'default/first-0 (2 pods)',
        counts: 'zone-a=1,zone-b=1',
      },
    }));
});

describe('nothing is said', () => {
  test.each<[string, ReturnType<typeof reasonFor>]>([
    ['of a pod without rules', reasonFor({})],
    ['of a pod that is refused by itself', reasonFor({ schedulingGates: ['g'] })],
    ['of rules about an empty node', reasonFor(rules.apart('w'))],
    ['of a spread with room', reasonFor(spreadOver(zoneKey))],
    [
      'of affinity to pods that run',
      reasonFor(
        { requiredPodAffinity: [term(zoneKey, 'db')] },
        { nodes: [running('zone-a', { app: 'db' })] },
      ),
    ],
    [
      'of anti-affinity to pods in some of the zones',
      reasonFor(
        { requiredPodAntiAffinity: [term(zoneKey, 'w')] },
        { nodes: [running('zone-a', { app: 'w' })] },
      ),
    ],
  ])('%s', (_, reason) => expect(reason).toBeUndefined());
});

test('in any world a class gets such a reason exactly when its rules leave it no place', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), (seed) => {
      const { snapshot, pods, options } = mixedWorld(seed);
      const engine = new Engine(worldOf(snapshot, pods, options));
      for (const cls of engine.world.classes) {
        const level = cls.levels.at(-1);
        const reason = topologyReason(engine, 'x', cls);
        if (level === undefined) {
          expect(reason).toBeUndefined();
          continue;
        }
        const roles = rolesOf(cls, level);
        const items = candidatesOf(engine, new ItemTable(), {
          cls,
          level: cls.levels.length - 1,
          roles,
        });
        const open =
          roles.onHost.every((role) => engine.ledger.roomOnHost(role, undefined) > 0) &&
          items.some((item) => canOpen(engine, item) && domainRoom(engine, item.pins) > 0);
        if (open) expect(reason).toBeUndefined();
        if (reason === undefined) continue;
        const mine = [...roles.onHost, ...roles.onDomain];
        expect(mine.map(({ group }) => group.key)).toContain(reason.values['key']);
        expect(mine.map(codeOf)).toContain(reason.values['rule'] ?? reason.code);
      }
    }),
    { numRuns: 60 },
  );
});

test('rules are named by their kind and key', () => {
  const { cls } = standing(
    {
      ...spreadOver(zoneKey),
      requiredPodAffinity: [term(zoneKey, 'w')],
      requiredPodAntiAffinity: [term('rack', 'db')],
    },
    {},
  );
  const roles = rolesOf(cls, present(cls.levels[0], 'the pod has a level'));
  expect(roles.onDomain.map((role) => [codeOf(role), ruleText(role)]).toSorted()).toEqual([
    ['pod-affinity', `affinity over ${zoneKey}`],
    ['pod-anti-affinity', 'anti-affinity over rack'],
    ['topology-spread', `spread over ${zoneKey}`],
  ]);
});

describe('a pod with which nothing is wrong', () => {
  test('is told that the search was ended, when it was', () => {
    const { engine } = standing({}, { options: { shouldStop: () => true } });
    expect(lateReason(engine, 'NodePool/default')).toMatchObject({
      code: 'budget-ended',
      subject: 'NodePool/default',
    });
  });

  test('is told who has its place otherwise', () => {
    const { engine } = standing({}, { beside: podsOf('web', 3, asking(1, 1)) });
    expect(lateReason(engine, 'NodePool/default')).toMatchObject({
      code: 'displaced',
      values: { by: 'default/web-0 (3 pods), default/asked' },
    });
  });
});
