import { createHash } from 'node:crypto';

import type { DeliveredMessage } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock } from '@dovetail/sim-clock';
import { type CloudEventV1, HTTP } from 'cloudevents';
import { describe, expect, test } from 'vitest';

import { cloudEventOf } from '../cloud-event.js';
import { decodeDecision } from '../codec/index.js';
import { headersFor, headerValue } from '../headers.js';
import { type Decision, decisionKinds } from '../messages.js';
import { streamName, streamSpecs, subjects } from '../subjects.js';
import { publishDecision } from './decisions.js';

/**
 * The headers of decisions, as the official package of CloudEvents reads them. It has no binding
 * for NATS. That binding has the names and escapes of the one for HTTP, so it is asked to read
 * that.
 */
const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };

async function published(decision: Decision): Promise<DeliveredMessage> {
  const clock = virtualClock(1_700_000_000_000);
  const bus = memoryBus(new MemoryBusServer(clock));
  await bus.ensureStreams(streamSpecs('lab'));
  await publishDecision({ bus, cluster: 'lab', hash, clock, source: 'launcher' }, decision);
  const subject = subjects.decision('lab', decision.kind);
  const message = await bus.lastMessage(streamName('lab', 'decisions'), subject);
  if (message === undefined) throw new Error('nothing was published');
  return message;
}

const decisionOf = (kind: Decision['kind'], over: Partial<Decision> = {}): Decision => ({
  id: `${kind}/größe 1`,
  kind,
  atMs: 1_700_000_000_000,
  source: 'launcher',
  summary: 'it happened',
  objects: [{ kind: 'Pod', namespace: 'default', name: 'web-1' }],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});

const readOf = ({ headers, payload }: DeliveredMessage): CloudEventV1<unknown> =>
  HTTP.toEvent({ headers: { ...headers }, body: Buffer.from(payload) }) as CloudEventV1<unknown>;

describe('the official package of CloudEvents', () => {
  test.each(decisionKinds)(
    'reads %s with its own type, its source and its subject',
    async (kind) => {
      const event = readOf(await published(decisionOf(kind)));
      expect(event).toMatchObject({
        specversion: '1.0',
        id: `decision/${kind}/gr%C3%B6%C3%9Fe%201`,
        source: '/dovetail/lab/launcher',
        type: `dovetail.v1.Decision.${kind}`,
        subject: 'Pod/default/web-1',
        time: '2023-11-14T22:13:20.000Z',
        datacontenttype: 'application/protobuf',
      });
    },
  );

  test('reads a decision about no object without a subject', async () =>
    expect(readOf(await published(decisionOf('plan', { objects: [] }))).subject).toBeUndefined());

  test('reads an event with JSON that has the same attributes, without escapes', async () => {
    const message = await published(decisionOf('launch'));
    const decoded = decodeDecision(message.payload);
    const event = decoded.ok && cloudEventOf({ headers: message.headers }, decoded.value);
    const body = JSON.stringify({ specversion: '1.0', ...(event || {}) });
    const headers = { 'content-type': 'application/cloudevents+json' };
    expect(HTTP.toEvent({ headers, body })).toMatchObject({
      id: 'decision/launch/größe 1',
      source: '/dovetail/lab/launcher',
      type: 'dovetail.v1.Decision.launch',
      data: { id: 'launch/größe 1', kind: 'launch', time: '2023-11-14T22:13:20.000Z' },
    });
  });
});

test.each([
  // The example of the binding for NATS.
  ['Euro € 😀', 'Euro%20%E2%82%AC%20%F0%9F%98%80'],
  ['100% "quoted"', '100%25%20%22quoted%22'],
  ['Pod/default/web-1', 'Pod/default/web-1'],
])('the attribute %s is the header %s', (attribute, header) =>
  expect(headerValue(attribute)).toBe(header),
);

test('a trace is an attribute of the event, too', () => {
  const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
  const source = { cluster: 'lab', service: 'solver' };
  expect(headersFor({ id: 'a', source, type: 'Plan', timeMs: 0, traceparent })).toMatchObject({
    traceparent,
    'ce-traceparent': traceparent,
  });
});

test.each([['%C0%A0'], ['%'], ['']])('the header %j is no attribute', (header) => {
  const headers = { 'ce-id': header, 'ce-source': '/a', 'ce-type': 'b' };
  expect(cloudEventOf({ headers }, decisionOf('launch'))).toBeUndefined();
});

test('headers that no service wrote make no event', () =>
  expect(cloudEventOf({ headers: { 'ce-id': 'x' } }, decisionOf('launch'))).toBeUndefined());
