import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { eventBridge } from './event-bridge.js';
import { type Answer, HttpReceiver, parcelOf } from './testing/http-receiver.js';

/**
 * The real SDK against a server that speaks EventBridge's protocol (AWS JSON 1.1). No account of
 * AWS was asked.
 */
type Entry = Readonly<Record<string, unknown>>;
type Failure = { readonly ErrorCode: string; readonly ErrorMessage: string };

let receiver: HttpReceiver;
let endpoint: string;
beforeEach(async () => {
  receiver = new HttpReceiver();
  endpoint = await receiver.listen();
  process.env['AWS_ACCESS_KEY_ID'] = 'sinks';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'lab';
});
afterEach(() => receiver.close());

const to = () => eventBridge({ region: 'us-west-2', bus: 'ops', endpoint, timeoutMs: 2_000 });
const entriesOf = (body: string): readonly Entry[] =>
  (JSON.parse(body) as { readonly Entries: readonly Entry[] }).Entries;
const json = (status: number, body: object): Answer => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.1' },
  body: JSON.stringify(body),
});
/** Answers as EventBridge does, with a failure for the entries that the function names. */
const answers =
  (failureOf: (entry: Entry) => Failure | undefined = () => undefined) =>
  ({ body }: { readonly body: string }): Answer => {
    const failures = entriesOf(body).map(failureOf);
    const Entries = failures.map((failure, at) => failure ?? { EventId: `event-${String(at)}` });
    return json(200, { FailedEntryCount: failures.filter(Boolean).length, Entries });
  };
const parcels = (count: number, text?: string) =>
  Array.from({ length: count }, (_, at) => parcelOf(String(at), text));
const failed = (ErrorCode: string): Failure => ({ ErrorCode, ErrorMessage: 'words' });

describe('EventBridge', () => {
  test('gets the events of a batch in one signed call, each whole', async () => {
    receiver.answer = answers();
    expect(await to().deliver(parcels(10))).toEqual(Array(10).fill({ kind: 'taken' }));
    const [got] = receiver.received;
    expect(receiver.received).toHaveLength(1);
    expect(got?.headers['x-amz-target']).toBe('AWSEvents.PutEvents');
    expect(got?.headers.authorization).toMatch(/Credential=sinks\/\d+\/us-west-2\/events\//);
    const [entry] = entriesOf(got?.body ?? '');
    expect(entry).toMatchObject({
      EventBusName: 'ops',
      Source: '/dovetail/lab/launcher',
      DetailType: 'dovetail.v1.Decision.launch',
      Resources: ['NodeClaim/größe "a" 100%'],
      Time: Date.parse('2026-11-21T12:00:00Z') / 1_000,
    });
    expect(JSON.parse(String(entry?.['Detail']))).toMatchObject({
      specversion: '1.0',
      id: 'decision/0',
      data: { id: '0', kind: 'launch' },
    });
  });

  test('tells of each entry by itself: some are taken, some tried again, some refused', async () => {
    const failures = [undefined, failed('ThrottlingException'), failed('MalformedDetail')];
    let at = 0;
    receiver.answer = answers(() => failures[at++]);
    expect(await to().deliver(parcels(3))).toEqual([
      { kind: 'taken' },
      { kind: 'again', reason: 'EventBridge: ThrottlingException: words' },
      { kind: 'refused', reason: 'EventBridge: MalformedDetail: words' },
    ]);
  });

  test.each([
    [400, 'ValidationException', 1, 'refused'],
    // Any of them may be at fault.
    [400, 'ValidationException', 2, 'again'],
    [403, 'AccessDeniedException', 1, 'refused'],
    [403, 'ExpiredTokenException', 1, 'again'],
    [400, 'ThrottlingException', 1, 'again'],
    [500, 'InternalException', 1, 'again'],
    [503, 'ServiceUnavailable', 1, 'again'],
  ])('a call that ends with %i %s of %i events means %s', async (status, code, count, kind) => {
    receiver.answer = () => json(status, { __type: code, message: 'words' });
    const outcomes = await to().deliver(parcels(count));
    expect(outcomes.map((each) => each.kind)).toEqual(Array(count).fill(kind));
    expect(outcomes[0]).toMatchObject({ reason: `EventBridge: ${code}: words` });
    expect(receiver.received).toHaveLength(1);
  });

  test('gets no call that is larger than AWS takes', async () => {
    receiver.answer = answers();
    const outcomes = await to().deliver(parcels(5, 'x'.repeat(100_000)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill('taken'));
    expect(receiver.received.map(({ body }) => entriesOf(body).length)).toEqual([2, 2, 1]);
  });

  test('that does not answer is tried again', async () => {
    await receiver.close();
    const [outcome] = await to().deliver(parcels(1));
    expect(outcome?.kind).toBe('again');
  });
});
