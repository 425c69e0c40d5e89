import { createHash } from 'node:crypto';

import type { Span, Traces } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { sampleBatch, sampleDecision, samplePlanMessage } from './testing/samples.js';
import {
  parseTraceparent,
  placeOfBatch,
  placeOfCommand,
  placeOfRetirement,
  recordSpan,
  spanOfDecision,
  tracedPlace,
  traceparentOf,
  workOfPlan,
} from './traces.js';

const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };
const lab = { cluster: 'lab', hash };
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

/** A recorder that keeps the traces whose ids begin with a digit of these. */
function recorder(kept = /./): Traces & { readonly spans: Span[] } {
  const spans: Span[] = [];
  return { spans, keeps: (id) => kept.test(id), record: (span) => void spans.push(span) };
}

describe('a traceparent', () => {
  test.each([
    [`00-${traceId}-${spanId}-01`, { traceId, spanId }],
    [`00-${traceId}-${spanId}-00`, { traceId, spanId }],
    [`01-${traceId}-${spanId}-01`, undefined],
    [`00-${traceId}-${spanId}`, undefined],
    [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
    [`00-${'0'.repeat(32)}-${spanId}-01`, undefined],
    [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is read as %j', (text, place) => expect(parseTraceparent(text)).toEqual(place));

  test.each([
    ['without a sampler', undefined, '01'],
    ['of a trace that is kept', recorder(), '01'],
    ['of a trace that is dropped', recorder(/^x/), '00'],
  ])('%s has the flag of its trace', (_what, traces, flag) =>
    expect(traceparentOf({ traceId, spanId }, traces)).toBe(`00-${traceId}-${spanId}-${flag}`),
  );
});

describe('ids', () => {
  const places = [
    placeOfBatch(lab, sampleBatch),
    placeOfBatch(lab, { ...sampleBatch, round: '3.8' }),
    placeOfBatch(lab, { ...sampleBatch, cutAtMs: sampleBatch.cutAtMs + 1 }),
    placeOfBatch({ ...lab, cluster: 'other' }, sampleBatch),
    placeOfRetirement(lab, 'u'),
    placeOfCommand(lab, 'u'),
  ];

  test('of two pieces of work differ, and those of one are the same each time', () => {
    expect(new Set(places.map((each) => each.traceId)).size).toBe(places.length);
    expect(new Set(places.map((each) => each.spanId)).size).toBe(places.length);
    expect(placeOfBatch(lab, sampleBatch)).toEqual(places[0]);
  });

  test('are what W3C asks for', () => {
    for (const place of places) expect(parseTraceparent(traceparentOf(place))).toEqual(place);
  });
});

describe('the plan', () => {
  const made = { createdMs: 1_000, solveMs: 100 };
  const node = { nodeName: 'n', nodeUid: 'u', reason: 'drifted' };
  const batch = placeOfBatch(lab, sampleBatch);
  const retired = placeOfRetirement(lab, 'u');
  const command = placeOfCommand(lab, 'c');

  test.each([
    ['of a batch is under the batch', samplePlanMessage.cause, batch, batch, batch],
    [
      'for a node is under its retirement',
      { kind: 'replacement', ...node },
      undefined,
      retired,
      retired,
    ],
    [
      'of a command is under the command',
      { kind: 'replacement', ...node, command: 'c' },
      undefined,
      command,
      command,
    ],
  ] as const)('%s', (_what, cause, given, trace, parent) =>
    expect(workOfPlan(lab, { ...made, cause }, given)).toEqual({
      traceId: trace.traceId,
      parentId: parent.spanId,
      sinceMs: 900,
    }),
  );

  test('for several nodes begins a trace, linked to those of the nodes, in any order of them', () => {
    const of = (first: string, second: string) =>
      workOfPlan(lab, {
        ...made,
        cause: {
          kind: 'replacement',
          nodeName: first,
          nodeUid: first,
          reason: 'drifted',
          others: [{ nodeName: second, nodeUid: second }],
        },
      });
    expect(of('a', 'b')).toEqual(of('b', 'a'));
    expect(of('a', 'b')).toMatchObject({
      links: [placeOfRetirement(lab, 'a'), placeOfRetirement(lab, 'b')],
    });
    expect(of('a', 'b').parentId).toBeUndefined();
  });
});

describe('a decision', () => {
  const work = { traceId, parentId: spanId, sinceMs: 5 };

  test.each([
    ['in a service that traces nothing', {}, work],
    ['of a trace that is dropped', { traces: recorder(/^x/) }, work],
    ['of no work', { traces: recorder() }, undefined],
  ])('%s has no place in a trace', (_what, traces, given) =>
    expect(tracedPlace({ ...lab, ...traces }, 'launch/a', given)).toBeUndefined(),
  );

  test('becomes a span with its facts, and one that says no is a failure', () => {
    const place = tracedPlace({ ...lab, traces: recorder() }, 'launch/a', work);
    if (place === undefined) throw new Error('it is traced');
    const told = { ...sampleDecision, kind: 'launch', atMs: 9, facts: { pods: '3' } } as const;
    expect(spanOfDecision(told, work, place)).toMatchObject({
      traceId,
      parentId: spanId,
      name: 'launch',
      startMs: 5,
      endMs: 9,
      attributes: { 'dovetail.claim': 'c', 'host.id': 'i-1', 'dovetail.pods': 3 },
    });
    expect(spanOfDecision(told, work, place)).not.toHaveProperty('failure');
    expect(spanOfDecision({ ...told, kind: 'refuse' }, work, place).failure).toBe(told.summary);
  });

  test('of the same id is the same span', () => {
    const tracing = { ...lab, traces: recorder() };
    expect(tracedPlace(tracing, 'launch/a', work)).toEqual(tracedPlace(tracing, 'launch/a', work));
    expect(tracedPlace(tracing, 'launch/b', work)).not.toEqual(
      tracedPlace(tracing, 'launch/a', work),
    );
  });
});

test('a span never ends before it begins: clocks of two hosts may differ', () => {
  const traces = recorder();
  const place = { traceId, spanId };
  recordSpan({ traces }, { ...place, name: 'plan', startMs: 9, endMs: 5, attributes: {} });
  expect(traces.spans).toMatchObject([{ startMs: 5, endMs: 5 }]);
});
