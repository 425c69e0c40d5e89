import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseInterruption } from './interruption.js';

fc.configureGlobal({ seed: 1 });

const event = (source: string, detailType: string, detail: object, changes: object = {}) =>
  JSON.stringify({
    version: '0',
    id: 'e-1',
    source,
    'detail-type': detailType,
    account: '123456789012',
    region: 'us-east-1',
    time: '2026-11-21T14:00:00Z',
    resources: [],
    detail,
    ...changes,
  });
const ec2 = (detailType: string, detail: object, changes?: object) =>
  event('aws.ec2', detailType, detail, changes);
const id = 'i-0123456789abcdef0';

describe('interruption notices', () => {
  test.each([
    [
      'EC2 Spot Instance Interruption Warning',
      { 'instance-id': id, 'instance-action': 'terminate' },
      'spot-interrupted',
    ],
    ['EC2 Instance Rebalance Recommendation', { 'instance-id': id }, 'rebalance-recommended'],
    [
      'EC2 Capacity Reservation Instance Interruption Warning',
      { 'instance-id': id, 'instance-action': 'terminate' },
      'reservation-interrupted',
    ],
    [
      'EC2 Instance State-change Notification',
      { 'instance-id': id, state: 'stopping' },
      'instance-stopping',
    ],
    [
      'EC2 Instance State-change Notification',
      { 'instance-id': id, state: 'terminated' },
      'instance-terminating',
    ],
  ])('%s with %j is %s', (detailType, detail, kind) =>
    expect(parseInterruption(ec2(detailType, detail))).toMatchObject({
      kind: 'notice',
      notice: {
        kind,
        instanceIds: [id],
        accountId: '123456789012',
        region: 'us-east-1',
        timeMs: Date.UTC(2026, 10, 21, 14),
      },
    }),
  );

  test.each([
    ['Mon, 23 Nov 2026 08:00:00 GMT', Date.UTC(2026, 10, 23, 8)],
    ['soon', undefined],
    [undefined, undefined],
  ])('a health event that starts at %j has the start %j', (startTime, startMs) => {
    const affectedEntities = [{ entityValue: id }];
    const detail = { service: 'EC2', eventTypeCategory: 'scheduledChange', affectedEntities };
    const parsed = parseInterruption(
      event('aws.health', 'AWS Health Event', { ...detail, startTime }),
    );
    const notice = parsed.kind === 'notice' ? parsed.notice : undefined;
    expect(notice?.kind === 'scheduled-change' ? notice.startMs : 'none').toBe(startMs);
  });

  test('a health event names many instances, each once, and what is no instance is left out', () => {
    const body = event('aws.health', 'AWS Health Event', {
      service: 'EC2',
      eventTypeCategory: 'scheduledChange',
      affectedEntities: [
        { entityValue: id },
        { entityValue: 'vol-1' },
        { entityValue: id },
        { entityValue: 'i-00000000' },
        7,
      ],
    });
    expect(parseInterruption(body)).toMatchObject({
      kind: 'notice',
      notice: { kind: 'scheduled-change', instanceIds: ['i-00000000', id] },
    });
  });

  test.each([
    [
      'a starting instance',
      ec2('EC2 Instance State-change Notification', { 'instance-id': id, state: 'running' }),
      'irrelevant',
    ],
    [
      'another service’s health',
      event('aws.health', 'AWS Health Event', {
        service: 'RDS',
        eventTypeCategory: 'scheduledChange',
      }),
      'irrelevant',
    ],
    [
      'a health event of no change',
      event('aws.health', 'AWS Health Event', { service: 'EC2', eventTypeCategory: 'issue' }),
      'irrelevant',
    ],
    ['another kind of event', ec2('EC2 Volume Notification', {}), 'unknown'],
    [
      'a newer version of a known one',
      ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': id }, { version: '1' }),
      'unknown',
    ],
    ['text', 'hello', 'malformed'],
    ['null', 'null', 'malformed'],
    [
      'no account',
      ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': id }, { account: undefined }),
      'malformed',
    ],
    [
      'no time',
      ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': id }, { time: 'soon' }),
      'malformed',
    ],
    [
      'an id that is none',
      ec2('EC2 Instance Rebalance Recommendation', { 'instance-id': 'node-1' }),
      'malformed',
    ],
    [
      'no detail',
      ec2('EC2 Instance Rebalance Recommendation', {}, { detail: undefined }),
      'malformed',
    ],
  ])('%s is %s', (_what, body, kind) => expect(parseInterruption(body as string).kind).toBe(kind));

  test('no body, however broken, throws', () =>
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
        parseInterruption(body);
      }),
    ));
});

test.each([
  ['upcoming', 'notice'],
  ['open', 'notice'],
  ['closed', 'irrelevant'],
])('a scheduled change that is %s is %s', (statusCode, kind) => {
  const detail = {
    service: 'EC2',
    eventTypeCategory: 'scheduledChange',
    statusCode,
    affectedEntities: [{ entityValue: id }],
  };
  expect(parseInterruption(event('aws.health', 'AWS Health Event', detail)).kind).toBe(kind);
});

describe('a message of EventBridge', () => {
  const warning = (changes: object): string =>
    ec2('EC2 Spot Instance Interruption Warning', { 'instance-id': id }, changes);

  test.each<[string, object, string]>([
    ['another version', { version: '1' }, 'unknown'],
    ['another source', { source: 'aws.rds' }, 'unknown'],
    ['no version', { version: undefined }, 'malformed'],
    ['an account that is no text', { account: 1 }, 'malformed'],
    ['no region', { region: undefined }, 'malformed'],
    ['a time that is none', { time: 'now' }, 'malformed'],
    ['a detail that is a list', { detail: [] }, 'malformed'],
    ['an instance of another form', { detail: { 'instance-id': 'x-1' } }, 'malformed'],
    ['nothing unusual', {}, 'notice'],
  ])('with %s is %s', (_name, changes, kind) =>
    expect(parseInterruption(warning(changes)).kind).toBe(kind),
  );

  test('keeps whose it is and when it was made, so that those of others can be refused', () =>
    expect(
      parseInterruption(warning({ account: '999999999999', region: 'eu-west-1' })),
    ).toMatchObject({
      notice: {
        accountId: '999999999999',
        region: 'eu-west-1',
        timeMs: Date.parse('2026-11-21T14:00:00Z'),
        instanceIds: [id],
      },
    }));

  test('never names an instance twice, nor anything that is no instance', () =>
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(id, 'i-00000000', 'vol-1'), fc.string())),
        (entities) => {
          const read = parseInterruption(
            event('aws.health', 'AWS Health Event', {
              service: 'EC2',
              eventTypeCategory: 'scheduledChange',
              affectedEntities: entities.map((entityValue) => ({ entityValue })),
            }),
          );
          const ids = read.kind === 'notice' ? read.notice.instanceIds : [];
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids.every((one) => /^i-[0-9a-f]+$/.test(one))).toBe(true);
          expect(read.kind).toBe(ids.length === 0 ? 'irrelevant' : 'notice');
        },
      ),
    ));
});
