import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { annotations } from '@dovetail/core-api';
import { claimValue } from '../testing/values.js';
import { isCapacityError, shortageOf } from './errors.js';
import { fleetRequestOf, intentOf, parseIntent, renderIntent, type IntentRequest } from './intent.js';
import { pair, type LaunchedInstance } from './pairing.js';
import { UnavailableOfferings } from './unavailable.js';
import { launchUnits, type UnitsInput } from './units.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const request: IntentRequest = {
  capacityType: 'spot', count: 2, allocation: 'price-capacity-optimized', tags: { 'karpenter.sh/nodepool': 'general' },
  configs: [{ launchTemplateName: 'dovetail/1', overrides: [{ instanceType: 'm5.large', subnetId: 'subnet-1', zone: 'a' }, { instanceType: 'm5.xlarge', subnetId: 'subnet-1', zone: 'a', priority: 2 }] }],
};
const intent = intentOf({ attempt: 1, createdMs: 5, members: ['b', 'a'], request }, sha256Hex);
const carrying = (name: string, change = {}) => claimValue(name, { annotations: { [annotations.launchIntent]: renderIntent(intent), ...change } });
const instance = (id: string): LaunchedInstance => ({ id, instanceType: 'm5.large', zone: 'a', capacityType: 'spot' });

describe('a launch intent', () => {
  test('is the same for the same content, whatever the order of its members', () => {
    expect(intent.members).toEqual(['a', 'b']);
    expect(intentOf({ attempt: 1, createdMs: 5, members: ['a', 'b'], request }, sha256Hex).id).toBe(intent.id);
  });
  test.each([
    ['another attempt', { attempt: 2 }], ['another moment', { createdMs: 6 }], ['another member', { members: ['a', 'c'] }], ['another request', { request: { ...request, allocation: 'lowest-price' as const } }],
  ])('%s is another intent', (_what, change) => expect(intentOf({ attempt: 1, createdMs: 5, members: ['a', 'b'], request, ...change }, sha256Hex).id).not.toBe(intent.id));
  test('is read back as it was written', () => expect(parseIntent(renderIntent(intent), sha256Hex)).toEqual(intent));
  test('that somebody changed is none', () => expect(parseIntent(renderIntent(intent).replace('m5.large', 'p5.48xlarge'), sha256Hex)).toBeUndefined());
  test('makes a request whose token and tag are its id, at most 64 ASCII characters', () => {
    const sent = fleetRequestOf(intent);
    expect(sent).toMatchObject({ clientToken: intent.id, count: 2, tags: { 'dovetail.sh/launch-intent': intent.id } });
    expect(sent.clientToken).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('pairing', () => {
  test.each([
    ['sorted instances go to sorted claims', ['a', 'b'], ['i-2', 'i-1'], ['a=i-1', 'b=i-2'], [], []],
    ['a shortage leaves the youngest', ['a', 'b', 'c'], ['i-1'], ['a=i-1'], ['c', 'b'], []],
    ['an instance too many is left over', ['a'], ['i-1', 'i-2'], ['a=i-1'], [], ['i-2']],
  ])('%s', (_sentence, names, ids, pairs, left, over) => {
    const done = pair(names.map((name) => claimValue(name)), ids.map(instance));
    expect(done.pairs.map((each) => `${each.claim.name}=${each.instance.id}`)).toEqual(pairs);
    expect(done.left.map((claim) => claim.name)).toEqual(left);
    expect(done.over.map((each) => each.id)).toEqual(over);
  });
  test('interrupted anywhere and done again, it comes to distinct instances and every claim keeps its own', () => fc.assert(fc.property(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 6 }), (instances, claims, done) => {
    const ids = Array.from({ length: instances }, (_each, index) => instance(`i-${index}`));
    const all = Array.from({ length: claims }, (_each, index) => claimValue(`c${index}`));
    const first = pair(all, ids).pairs;
    const written = new Map(first.slice(0, done).map((each) => [each.claim.name, each.instance.id]));
    const again = pair(all.map((claim) => (written.has(claim.name) ? { ...claim, annotations: { [annotations.instanceId]: written.get(claim.name) ?? '' } } : claim)), ids).pairs;
    const total = [...written.values(), ...again.map((each) => each.instance.id)];
    expect(new Set(total).size).toBe(total.length);
    expect(total).toHaveLength(Math.min(instances, claims));
  })));
});

describe('the work there is', () => {
  const units = (claims: readonly ReturnType<typeof claimValue>[], change: Partial<UnitsInput> = {}) => {
    const byName = new Map(claims.map((claim) => [claim.name, claim]));
    return launchUnits({ claims, claimByName: (name) => byName.get(name), sha256Hex, isSettled: () => false, isHeldBack: () => false, isVoid: () => false, membersMax: 50, ...change })
      .map((unit) => `${unit.kind} ${unit.claims.map((claim) => claim.name).join('+')}${unit.kind === 'launch' ? ` attempt ${unit.attempt}` : ''}`);
  };
  test.each([
    ['equal claims are launched together', [claimValue('a'), claimValue('b')], {}, ['launch a+b attempt 1']],
    ['fifty at most', [claimValue('a'), claimValue('b'), claimValue('c')], { membersMax: 2 }, ['launch a+b attempt 1', 'launch c attempt 1']],
    ['different ones are not', [claimValue('a'), claimValue('b', { taints: [{ key: 'x', effect: 'NoSchedule' as const }] })], {}, ['launch a attempt 1', 'launch b attempt 1']],
    ['an intent that all members carry is resolved', [carrying('a'), carrying('b')], {}, ['resolve a+b']],
    ['one that a member lacks may be replaced', [carrying('a'), claimValue('b')], {}, ['launch b attempt 1', 'launch a attempt 2']],
    ['one whose member is gone was never in force', [carrying('a')], {}, ['launch a attempt 2']],
    ['claims that have their instance need nothing', [carrying('a', { [annotations.instanceId]: 'i-1' }), carrying('b')], {}, ['resolve b']],
    ['a settled intent leaves its claims to the next attempt', [carrying('a'), carrying('b')], { isSettled: () => true }, ['launch a+b attempt 2']],
    ['a claim that is being deleted is not launched', [claimValue('a', { deletionMs: 1 })], {}, []],
    ['but what was bought for it is learnt', [carrying('a'), { ...carrying('b'), deletionMs: 1 }], {}, ['resolve a+b']],
    ['a void claim is not launched', [claimValue('a')], { isVoid: () => true }, []],
    ['a claim that waits is left alone', [claimValue('a')], { isHeldBack: () => true }, []],
  ])('%s', (_sentence, claims, change, expected) => expect(units(claims, change).sort()).toEqual([...expected].sort()));
});

describe('what a fleet answers', () => {
  const outcome = (codes: readonly string[], instances: number) => ({ fleetId: 'f', instances: Array.from({ length: instances }, () => ({ id: 'i', instanceType: 't', zone: 'a', capacityType: 'spot' as const })), errors: codes.map((awsCode) => ({ awsCode, message: awsCode })) });
  test.each([
    ['as many as wanted is no shortage, errors or not', ['InsufficientInstanceCapacity'], 2, 'none'],
    ['too few for want of capacity', ['InsufficientInstanceCapacity', 'UnfulfillableCapacity'], 1, 'capacity'],
    ['any other error is the one to act on', ['InsufficientInstanceCapacity', 'UnauthorizedOperation'], 0, 'other'],
    ['a missing template is made again', ['InvalidLaunchTemplateName.NotFoundException'], 0, 'template-missing'],
    ['too few without a word counts as capacity', [], 1, 'capacity'],
  ] as const)('%s', (_sentence, codes, instances, kind) => expect(shortageOf(outcome(codes, instances), 2).kind).toBe(kind));
  test.each([
    'InsufficientInstanceCapacity', 'MaxSpotInstanceCountExceeded', 'VcpuLimitExceeded', 'UnfulfillableCapacity', 'Unsupported', 'InsufficientFreeAddressesInSubnet', 'MaxFleetCountExceeded', 'ReservationCapacityExceeded',
  ])('%s means: avoid the offering', (awsCode) => expect(isCapacityError({ awsCode, message: '' })).toBe(true));
  test('so does a zone without the type, whatever its code says', () =>
    expect(isCapacityError({ awsCode: 'InvalidFleetConfiguration', message: 'Your requested instance type (x) is not supported in your requested Availability Zone (a).' })).toBe(true));
});

describe('offerings without capacity', () => {
  const spot = { instanceType: 'm5.large', zone: 'a', capacityType: 'spot' as const };
  const minute = 60_000;
  test('are avoided for three minutes, longer after each failure in a row, and forgotten when they launch', () => {
    const avoided = new UnavailableOfferings({ avoidMs: 3 * minute, avoidMaxMs: 24 * minute });
    expect(avoided.fail(spot, 'x', 0)).toMatchObject({ untilMs: 3 * minute, failures: 1 });
    expect(avoided.fail(spot, 'x', minute)).toMatchObject({ untilMs: 3 * minute, failures: 1 });
    expect([avoided.isAvoided(spot, 3 * minute - 1), avoided.isAvoided(spot, 3 * minute)]).toEqual([true, false]);
    expect(avoided.fail(spot, 'x', 4 * minute)).toMatchObject({ untilMs: 10 * minute, failures: 2 });
    expect(avoided.fail(spot, 'x', 11 * minute)).toMatchObject({ untilMs: 23 * minute, failures: 3 });
    expect(avoided.fail(spot, 'x', 90 * minute)).toMatchObject({ failures: 1 });
    expect(avoided.succeed(spot)).toBe(true);
    expect(avoided.avoided(0)).toEqual([]);
  });
  test('are other offerings than those of another zone or capacity type', () => {
    const avoided = new UnavailableOfferings({ avoidMs: minute, avoidMaxMs: minute });
    avoided.fail(spot, 'x', 0);
    expect([avoided.isAvoided({ ...spot, zone: 'b' }, 1), avoided.isAvoided({ ...spot, capacityType: 'on-demand' }, 1)]).toEqual([false, false]);
  });
});
