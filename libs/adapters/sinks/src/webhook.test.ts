import { type CloudEventV1, HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { retryAfterMs } from './post.js';
import { isSigningKey } from './signature.js';
import { HttpReceiver, parcelOf } from './testing/http-receiver.js';
import { webhook, type WebhookOptions } from './webhook.js';

let receiver: HttpReceiver;
let url: string;
beforeEach(async () => {
  receiver = new HttpReceiver();
  url = await receiver.listen();
});
afterEach(() => receiver.close());

const nowMs = Date.now();
const to = (over: Partial<WebhookOptions> = {}) =>
  webhook({
    url: `${url}/hook?x=1`,
    mode: 'structured',
    headers: {},
    timeoutMs: 2_000,
    clock: { nowMs: () => nowMs },
    ...over,
  });

describe.each(['structured', 'binary'] as const)('a webhook in %s mode', (mode) => {
  test('gets what the official package of CloudEvents reads as the same event', async () => {
    const parcel = parcelOf('1');
    expect(await to({ mode }).deliver([parcel])).toEqual([{ kind: 'taken' }]);
    const [got] = receiver.received;
    expect([got?.method, got?.path]).toEqual(['POST', '/hook?x=1']);
    const read = HTTP.toEvent({
      headers: got?.headers ?? {},
      body: got?.body,
    }) as CloudEventV1<unknown>;
    const { subject, ...rest } = parcel.event;
    expect(read).toMatchObject({
      specversion: '1.0',
      datacontenttype: expect.any(String),
      ...rest,
    });
    // The package leaves the escapes of headers to its user.
    const escaped = read.subject ?? '';
    expect(mode === 'binary' ? decodeURIComponent(escaped) : escaped).toBe(subject);
  });

  test('gets a signature that the library of Standard Webhooks accepts, over this body alone', async () => {
    const signingKey = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    await to({ mode, signingKey }).deliver([parcelOf('1')]);
    const { headers, body } = receiver.received[0] ?? { headers: {}, body: '' };
    const checker = new Webhook(signingKey);
    const given = headers as Record<string, string>;
    expect(checker.verify(body, given)).toMatchObject(JSON.parse(body) as object);
    expect(given['webhook-id']).toBe('decision/1');
    expect(() => checker.verify(`${body} `, given)).toThrow(/signature/i);
  });
});

test('further headers are sent, and those of the event win', async () => {
  await to({ headers: { authorization: 'Bearer x', 'Content-Type': 'text/plain' } }).deliver([
    parcelOf('1'),
  ]);
  expect(receiver.received[0]?.headers).toMatchObject({ authorization: 'Bearer x' });
  expect(receiver.received[0]?.headers['content-type']).toContain('application/cloudevents+json');
});

describe('the answer', () => {
  test.each([
    [200, 'taken'],
    [202, 'taken'],
    [299, 'taken'],
    [301, 'refused'],
    [400, 'refused'],
    [401, 'refused'],
    [404, 'refused'],
    [410, 'refused'],
    [413, 'refused'],
    [408, 'again'],
    [425, 'again'],
    [429, 'again'],
    [500, 'again'],
    [503, 'again'],
  ])('%i means %s', async (status, kind) => {
    receiver.answer = () => ({ status, body: 'because\n  of   this', headers: { location: '/x' } });
    const [outcome] = await to().deliver([parcelOf('1')]);
    expect(outcome?.kind).toBe(kind);
    if (outcome?.kind !== 'taken')
      expect(outcome?.reason).toContain(`it answered ${String(status)}: because of this`);
    expect(receiver.received).toHaveLength(1);
  });

  test.each([
    ['7', 7_000],
    [new Date(Math.floor(nowMs / 1_000) * 1_000 + 60_000).toUTCString(), 60_000],
  ])('may ask for a rest: Retry-After: %s', async (header, expectedMs) => {
    receiver.answer = () => ({ status: 429, headers: { 'retry-after': header } });
    const [outcome] = await to().deliver([parcelOf('1')]);
    const waitMs = outcome?.kind === 'again' ? outcome.waitMs : undefined;
    expect(Math.abs((waitMs ?? 0) - expectedMs)).toBeLessThanOrEqual(1_000);
  });

  test.each([[null], ['soon'], ['-1']])('asks for none with Retry-After: %s', (header) =>
    expect(retryAfterMs(header, nowMs) ?? 0).toBe(0),
  );

  test('that does not come is waited for no longer than the timeout', async () => {
    receiver.answer = () => undefined;
    expect(await to({ timeoutMs: 100 }).deliver([parcelOf('1')])).toEqual([
      { kind: 'again', reason: 'it did not answer within 0.1 s' },
    ]);
  });

  test.each([
    ['never ends', { 'content-length': '100' }],
    ['cannot be decoded', { 'content-encoding': 'gzip' }],
  ])('counts by its status though its body %s', async (_what, headers) => {
    const answered = async (status: number): Promise<unknown> => {
      receiver.answer = () => ({ status, headers, body: 'x' });
      const [outcome] = await to({ timeoutMs: 500 }).deliver([parcelOf('1')]);
      return outcome?.kind;
    };
    expect([await answered(200), await answered(404), await answered(503)]).toEqual([
      'taken',
      'refused',
      'again',
    ]);
  });

  test('of nobody is a failure that tells no secret of the address', async () => {
    await receiver.close();
    const [outcome] = await to({ url: `${url}/secret` }).deliver([parcelOf('1')]);
    expect(outcome).toMatchObject({ kind: 'again', reason: expect.stringMatching(/ECONNREFUSED/) });
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });
});

test.each([
  [`whsec_${Buffer.alloc(24).toString('base64')}`, true],
  [Buffer.alloc(32).toString('base64'), true],
  [`whsec_${Buffer.alloc(23).toString('base64')}`, false],
  ['whsec_', false],
  ['a password of more than twenty-four letters', false],
])('%s is a key: %j', (key, isKey) => expect(isSigningKey(key)).toBe(isKey));
