import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { renderPromise, type NodeClaim } from '@dovetail/core-api';
import type { Pod } from '@dovetail/core-kube-model';
import { planCollection, type CollectionInput } from './collection.js';
import { attachmentsToAwait, planDrain } from './drain.js';
import { surelyFitsElsewhere } from './room.js';
import { parseRetirement, renderRetirement, retirementStep, replacementsOf, type Retirement } from './retirement.js';
import { deadlineToWrite, terminationStep, type TerminationFacts } from './termination.js';
import { claim, daemon, node, nowMs, pod, view } from './testing/objects.js';

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;
const critical = { priorityClassName: 'system-cluster-critical' };
const evicted = (pods: readonly Pod[], deadlineMs?: number) => planDrain(pods, { nowMs, ...(deadlineMs === undefined ? {} : { deadlineMs }) }).evict.map(({ name }) => name);

describe('draining', () => {
  test.each<[string, readonly Pod[], readonly string[]]>([
    ['ordinary pods before daemons before critical ones', [pod('c', critical), daemon('d'), pod('b'), pod('a')], ['a', 'b']],
    ['daemons once ordinary pods are gone', [pod('c', critical), daemon('d')], ['d']],
    ['critical pods before critical daemons', [daemon('dc', critical), pod('c', critical)], ['c']],
    ['nothing of a later tier while an earlier is terminating', [pod('a', { deletionMs: nowMs + 10_000 }), daemon('d')], []],
    ['a pod that is stuck for a minute is not waited for', [pod('a', { deletionMs: nowMs - 60_000 }), daemon('d')], ['d']],
    ['no static pod', [pod('m', { mirror: true })], []],
    ['no pod that tolerates the taint', [pod('t', { tolerations: [{ key: 'karpenter.sh/disrupted', operator: 'Exists' }] })], []],
    ['no ended pod', [pod('s', { phase: 'Failed' })], []],
    ['no protected pod, and nothing after it', [pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }), daemon('d')], []],
  ])('evicts %s', (_what, pods, names) => expect(evicted(pods)).toEqual(names));

  test('is done when only pods that stay are left', () => {
    expect(planDrain([pod('m', { mirror: true }), pod('s', { phase: 'Succeeded' }), pod('t', { tolerations: [{ operator: 'Exists' }] })], { nowMs }).done).toBe(true);
    expect(planDrain([pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })], { nowMs })).toMatchObject({ done: false, waitingFor: [{ note: { code: 'pod-protected' } }] });
  });

  test.each<[string, Pod, number, readonly [string, number][]]>([
    ['before deadline less grace: not yet', pod('a'), nowMs + 30_000, []],
    ['after it: with what is left', pod('a'), nowMs + 29_000, [['a', 29]]],
    ['past the deadline: one second', pod('a'), nowMs - 5_000, [['a', 1]]],
    ['a pod without grace gets a second all the same', pod('a', { terminationGracePeriodSeconds: 0 }), nowMs - 1, [['a', 1]]],
    ['a later tier too', daemon('d', critical), nowMs + 10_000, [['d', 10]]],
    ['a protected one too', pod('p', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }), nowMs + 10_000, [['p', 10]]],
    ['a terminating one whose grace outlasts it', pod('a', { deletionMs: nowMs + 60_000 }), nowMs + 20_000, [['a', 20]]],
    ['a terminating one that will be in time: left alone', pod('a', { deletionMs: nowMs + 10_000 }), nowMs + 20_000, []],
  ])('deletes at the deadline: %s', (_what, one, deadlineMs, forced) =>
    expect(planDrain([one], { nowMs, deadlineMs }).force.map(({ pod: { name }, gracePeriodSeconds }) => [name, gracePeriodSeconds])).toEqual(forced));

  test('never touches two tiers at once without a deadline, and never forgets a pod it waits for', () => fc.assert(fc.property(
    fc.array(fc.record({ daemonic: fc.boolean(), important: fc.boolean(), going: fc.boolean() }), { maxLength: 12 }), (specs) => {
      const pods = specs.map(({ daemonic, important, going }, index) => (daemonic ? daemon : pod)(`p${String(index)}`, { ...(important ? critical : {}), ...(going ? { deletionMs: nowMs + 5_000 } : {}) }));
      const plan = planDrain(pods, { nowMs });
      const tiers = new Set(plan.evict.map((one) => `${String(one.priorityClassName)}/${one.owner?.kind ?? ''}`));
      return tiers.size <= 1 && plan.waitingFor.length === pods.length && plan.done === (pods.length === 0);
    })));

  test('attachments of pods that stay are not waited for', () => {
    const attachment = (name: string, volumeName: string) => ({ uid: name, name, resourceVersion: '1', nodeName: 'n1', volumeName });
    expect(attachmentsToAwait([attachment('b', 'v2'), attachment('a', 'v1')], new Set(['v1'])).map(({ name }) => name)).toEqual(['b']);
  });
});

describe('ending a node', () => {
  const ending = claim('c1', { deletionMs: nowMs - 10_000 });
  const facts = (more: Partial<TerminationFacts>): TerminationFacts => ({ claim: ending, node: node('n1', { taints: [disrupted] }), pods: [], attachments: [], instance: 'live', nowMs, endingSinceMs: nowMs - 5_000, drainMinMs: 5_000, ...more });
  const attachment = { uid: 'a', name: 'a', resourceVersion: '1', nodeName: 'n1' };
  test.each<[string, Partial<TerminationFacts>, string]>([
    ['taints first', { node: node('n1'), pods: [pod('a')] }, 'taint'],
    ['drains', { pods: [pod('a')] }, 'drain'],
    ['drains for at least the minimum', { endingSinceMs: nowMs - 4_999 }, 'drain'],
    ['waits for volumes', { attachments: [attachment] }, 'wait-volumes'],
    ['but not past the deadline', { attachments: [attachment], claim: { ...ending, annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': new Date(nowMs).toISOString() } } }, 'terminate'],
    ['terminates', {}, 'terminate'],
    ['terminates an instance that never became a node', { node: undefined as never }, 'terminate'],
    ['waits until it is gone', { instance: 'ending', pods: [pod('a')] }, 'await-gone'],
    ['lets go when EC2 says terminated', { instance: 'terminated', pods: [pod('a')] }, 'release'],
    ['lets go when EC2 knows no such instance and the node is silent', { instance: 'missing', node: node('n1', { ready: false }) }, 'release'],
    ['does not believe EC2 while the node is Ready', { instance: 'missing', pods: [pod('a')] }, 'drain'],
  ])('%s', (_what, more, kind) => {
    const all = facts(more);
    const { node: _none, ...without } = all;
    expect(terminationStep('node' in more && more.node === undefined ? without : all).kind).toBe(kind);
  });

  test.each([
    ['its grace period after deletion', { terminationGracePeriodMs: 60_000 }, undefined, nowMs + 50_000],
    ['the earlier of that and what is asked for', { terminationGracePeriodMs: 60_000 }, nowMs + 20_000, nowMs + 20_000],
    ['nothing when an earlier one stands', { terminationGracePeriodMs: 60_000, annotations: { 'karpenter.sh/nodeclaim-termination-timestamp': new Date(nowMs).toISOString() } }, nowMs + 20_000, undefined],
    ['nothing without either', {}, undefined, undefined],
  ] as const)('the deadline to write: %s', (_what, more, askedMs, deadlineMs) => expect(deadlineToWrite({ ...ending, ...more }, askedMs)).toBe(deadlineMs));
});

describe('a retirement', () => {
  const limits = { expiryWaitMs: 900_000, interruptionWaitMs: 60_000, askAgainMs: 75_000, askAgainUrgentMs: 15_000 };
  const initialized = [{ type: 'Initialized', status: 'True', reason: '', message: '', lastTransitionMs: nowMs }] as const;
  const replacement = (name: string, more: Partial<NodeClaim> = {}): NodeClaim =>
    claim(name, { conditions: [], annotations: { 'dovetail.sh/promise': renderPromise({ podUids: [], admission: '1.1', replaces: { nodeName: 'n1', nodeUid: 'uid-n1' } }) }, ...more });
  const step = (retirement: Partial<Retirement>, more: { pods?: readonly Pod[]; replacements?: readonly NodeClaim[] } = {}) => retirementStep({
    retirement: { cause: 'expired', atMs: nowMs - 10_000, ...retirement }, view: view({ pods: more.pods ?? [pod('a')], node: node('n1', { taints: [disrupted] }) }),
    replacements: more.replacements ?? [], limits, budgetsOf: () => [], podOf: () => undefined, nowMs, retiring: true,
  }).kind;
  const asked = { askedMs: nowMs - 5_000, answered: true };
  test.each([
    ['empty and still empty: ends', step({ cause: 'empty' }, { pods: [] }), 'end'],
    ['empty, but a pod came before the taint: is let go', step({ cause: 'empty' }), 'abandon'],
    ['expired without pods: ends', step({}, { pods: [daemon('d')] }), 'end'],
    ['expired with pods: asks', step({}), 'ask'],
    ['asked a moment ago: waits', step({ askedMs: nowMs - 5_000 }), 'wait'],
    ['asked long ago and nothing came: asks again', step({ askedMs: nowMs - 75_000 }), 'ask'],
    ['interrupted, asked a quarter of a minute ago and nothing came: asks again', step({ cause: 'interrupted', deadlineMs: nowMs + 60_000, askedMs: nowMs - 15_000 }), 'ask'],
    ['room on nodes that exist: ends', step({ ...asked, expects: 0 }), 'end'],
    ['replacement not initialised: waits', step({ ...asked, expects: 1 }, { replacements: [replacement('r')] }), 'wait'],
    ['one of two initialised: waits', step({ ...asked, expects: 2 }, { replacements: [replacement('r', { conditions: initialized })] }), 'wait'],
    ['all initialised: ends', step({ ...asked, expects: 1 }, { replacements: [replacement('r', { conditions: initialized })] }), 'end'],
    ['expired, solver answered, waited too long: ends', step({ ...asked, expects: 1, atMs: nowMs - 900_000 }), 'end'],
    ['expired, no solver ever answered: goes on asking', step({ atMs: nowMs - 9_000_000 }), 'ask'],
    ['interrupted, half the notice over: ends', step({ cause: 'interrupted', atMs: nowMs - 60_000, deadlineMs: nowMs + 50_000 }), 'end'],
    ['the instance is going already: ends at once', step({ cause: 'interrupted', atMs: nowMs, deadlineMs: nowMs }), 'end'],
    ['announced maintenance: waits for its replacement as expiry does', step({ ...asked, cause: 'interrupted', atMs: nowMs - 60_000, expects: 1 }), 'wait'],
  ])('%s', (_what, kind, expected) => expect(kind).toBe(expected));

  test('its replacements are the living claims that name the node', () => {
    const found = replacementsOf([replacement('r'), replacement('gone', { deletionMs: nowMs }), claim('other')], 'uid-n1');
    expect(found.map(({ name }) => name)).toEqual(['r']);
  });

  test('is the same after it was written and read', () => fc.assert(fc.property(
    fc.record({ cause: fc.constantFrom('empty' as const, 'expired' as const, 'interrupted' as const), atMs: fc.nat() }), fc.record({ deadlineMs: fc.nat(), askedMs: fc.nat(), expects: fc.nat(), detail: fc.string() }, { requiredKeys: [] }), fc.boolean(),
    (must, may, answered) => { const retirement = { ...must, ...may, ...(answered ? { answered: true } : {}) }; expect(parseRetirement(renderRetirement(retirement))).toEqual(retirement); })));

  test.each([undefined, '', 'x', '{}', '{"cause":"bored","atMs":1}', '{"cause":"empty"}', 'null', '[]'])('%j is no retirement', (text) => expect(parseRetirement(text)).toBeUndefined());
});

describe('room elsewhere, judged without the planner', () => {
  const host = (more = {}, pods: readonly Pod[] = []) => ({ node: node('n2', more), pods });
  test.each([
    ['enough', [pod('a')], [host()], true],
    ['taken by others', [pod('a')], [host({}, [pod('x', { requests: { cpu: 3500 } })])], false],
    ['enough only over two', [pod('a', { requests: { cpu: 3000 } }), pod('b', { requests: { cpu: 3000 } })], [host(), { node: node('n3'), pods: [] }], true],
    ['not for a pod that selects another label', [pod('a', { nodeSelector: { disk: 'ssd' } })], [host()], false],
    ['not on a cordoned node', [pod('a')], [host({ cordoned: true })], false],
    ['not on a retiring node', [pod('a')], [host({ taints: [disrupted] })], false],
    ['not past a taint', [pod('a')], [host({ taints: [{ key: 'team', effect: 'NoSchedule' }] })], false],
    ['never for a pod that spreads', [pod('a', { topologySpread: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' }] })], [host()], false],
    ['never for a pod with a volume', [pod('a', { volumes: [{ claimName: 'v' }] })], [host()], false],
  ] as const)('%s', (_what, pods, hosts, fits) => expect(surelyFitsElsewhere(pods, hosts)).toBe(fits));
});

describe('collection', () => {
  const limits = { instanceAgeMinMs: 30_000, claimAgeMinMs: 120_000, fleetShareMax: 0.1, alwaysAllowed: 3 };
  const instance = (id: string, more = {}) => ({ id, state: 'running', launchedMs: nowMs - 600_000, tags: { 'dovetail.sh/cluster-uid': 'us' }, ...more });
  const owner = (name: string, id: string | undefined, more: Partial<NodeClaim> = {}): NodeClaim => {
    const { providerId: _id, ...rest } = claim(name, { nodeName: name, ...more });
    return id === undefined ? rest : { ...rest, annotations: { ...rest.annotations, 'dovetail.sh/instance-id': id } };
  };
  const collect = (more: Partial<CollectionInput>) => planCollection({ instances: [], claims: [], readyNodes: new Set(), clusterUid: 'us', nowMs, limits, ...more });
  const many = (count: number) => Array.from({ length: count }, (_, index) => `i-${String(index).padStart(3, '0')}`);

  test('ends instances without a claim, and only those', () => {
    expect(collect({ instances: [instance('i-1'), instance('i-2')], claims: [owner('c', 'i-2')] }).terminate.map(({ id }) => id)).toEqual(['i-1']);
  });
  test.each([
    ['a young one', { launchedMs: nowMs - 30_000 }], ['one that is ending', { state: 'shutting-down' }], ['one that ended', { state: 'terminated' }],
    ['one whose intent is still being paired', { tags: { 'dovetail.sh/cluster-uid': 'us', 'dovetail.sh/launch-intent': 'abc' } }],
  ])('leaves %s', (_what, more) => {
    const launching = owner('c', undefined, { annotations: { 'dovetail.sh/launch-intent': 'abc {}' } });
    expect(collect({ instances: [instance('i-1', more)], claims: [launching] }).terminate).toEqual([]);
  });
  test('leaves what claims hold that could not be read', () => {
    const tags = { 'dovetail.sh/cluster-uid': 'us', 'dovetail.sh/launch-intent': 'abc' };
    const alsoHeld = { instanceIds: new Set(['i-1']), intentIds: new Set(['abc']) };
    expect(collect({ instances: [instance('i-1'), instance('i-2', { tags }), instance('i-3')], alsoHeld }).terminate.map(({ id }) => id)).toEqual(['i-3']);
  });
  test('ends what an intent left over once all its claims are paired', () => {
    const paired = owner('c', 'i-2', { annotations: { 'dovetail.sh/launch-intent': 'abc {}' } });
    const tags = { 'dovetail.sh/cluster-uid': 'us', 'dovetail.sh/launch-intent': 'abc' };
    expect(collect({ instances: [instance('i-1', { tags }), instance('i-2', { tags })], claims: [paired] }).terminate.map(({ id }) => id)).toEqual(['i-1']);
  });
  test.each([
    ['claims whose instance is gone', {}, new Set<string>(), ['c']],
    ['not while the node is Ready', {}, new Set(['c']), []],
    ['not soon after launch', { conditions: [{ type: 'Launched', status: 'True', reason: '', message: '', lastTransitionMs: nowMs - 60_000 }] }, new Set<string>(), []],
    ['not those that are being deleted', { deletionMs: nowMs }, new Set<string>(), []],
  ] as const)('ends %s', (_what, more, readyNodes, names) => expect(collect({ claims: [owner('c', 'i-gone', more)], readyNodes }).deleteClaims.map(({ name }) => name)).toEqual(names));
  test('stops when it would end over a tenth of the fleet', () => {
    const fleet = many(40).map((id) => instance(id));
    const claims = (orphans: number) => many(40).slice(orphans).map((id) => owner(`c${id}`, id));
    expect(collect({ instances: fleet, claims: claims(4) }).terminate).toHaveLength(4);
    const stopped = collect({ instances: fleet, claims: claims(5) });
    expect([stopped.terminate.length, stopped.brakes.map(({ code }) => code)]).toEqual([0, ['collection-brake']]);
  });
  test('allows three in a small fleet, but not four', () => {
    expect(collect({ instances: many(3).map((id) => instance(id)) }).terminate).toHaveLength(3);
    expect(collect({ instances: many(4).map((id) => instance(id)) }).terminate).toEqual([]);
  });
  test('stops altogether when instances carry our name and another cluster\'s UID', () => {
    const stopped = collect({ instances: [instance('i-1'), instance('i-2', { tags: { 'dovetail.sh/cluster-uid': 'them' } })], claims: [owner('c', 'i-gone')] });
    expect([stopped.terminate, stopped.deleteClaims, stopped.brakes.map(({ code }) => code)]).toEqual([[], [], ['cluster-mismatch']]);
  });
});
