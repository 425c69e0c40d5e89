import { type Decision, followDecisions, streamName, subjects } from '@dovetail/contracts';
import { BusError, type PublishAck, type Span, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { outside, overriding, startMs } from '../testing/outside.js';
import { Decisions, type NewDecision } from './decisions.js';
import { busOutbox } from './outbox.js';

const launch: NewDecision = {
  id: 'launch/u/i-0abc',
  kind: 'launch',
  summary: 'c is launched as i-0abc',
  claimName: 'c',
  instanceId: 'i-0abc',
  priceMicrosPerHour: 192_000,
  facts: { fleet: 'f-1' },
  reasons: [{ code: 'existing-room', message: 'there is room', values: {} }],
};

/** A service that tells decisions on a bus that the test can take away. */
async function stage(keeps: (traceId: string) => boolean = () => true) {
  const at = outside();
  await at.ensureStreams();
  const stop = new Stopper();
  const link = { isAway: false };
  const publish = (...args: Parameters<typeof at.bus.publish>): Promise<PublishAck> =>
    link.isAway
      ? Promise.reject(new BusError('unavailable', 'no connection'))
      : at.bus.publish(...args);
  const spans: Span[] = [];
  const traces = { keeps, record: (span: Span) => void spans.push(span) };
  const bus = overriding(at.bus, { publish });
  const channel = { ...at.channel, source: 'launcher', bus, traces };
  const outbox = busOutbox(at);
  const decisions = new Decisions({ channel, outbox, log: at.log });
  void outbox.run(stop);
  const heard: Decision[] = [];
  void (async () => {
    for await (const event of followDecisions(at.channel, stop))
      if (event.kind === 'decision') heard.push(event.decision);
  })();
  return { ...at, link, decisions, heard, spans, end: () => stop.abort() };
}

describe('a decision', () => {
  test('holds text of others as one line that steers no terminal', async () => {
    const { decisions, heard, advance, end } = await stage();
    const text = `claim \u001b[2Jx\ny ${'z'.repeat(1_400_000)}`;
    decisions.tell({
      ...launch,
      summary: text,
      reasons: [{ code: 'volume', message: text, values: { claim: text }, remedy: text }],
      facts: { claim: text },
    });
    await advance(5);
    const told = JSON.stringify(heard);
    expect([told.length < 4_000, told.includes('claim \\\\u001b[2Jx\\\\u000ay z')]).toEqual([
      true,
      true,
    ]);
    end();
  });

  test('that was made before it is told keeps its own time', async () => {
    const { decisions, heard, advance, end } = await stage();
    decisions.tell({ ...launch, atMs: startMs - 7 });
    await advance(5);
    expect(heard).toMatchObject([{ id: launch.id, atMs: startMs - 7 }]);
    end();
  });

  test('is published with its time and source, and logged with what it is about', async () => {
    const { decisions, heard, advance, lines, end } = await stage();
    decisions.tell(launch);
    await advance(5);
    expect(heard).toMatchObject([
      { ...launch, atMs: startMs, source: 'launcher', objects: [], alternatives: [] },
    ]);
    expect(lines).toEqual([
      {
        level: 'info',
        name: 'decision-launch',
        message: 'c is launched as i-0abc',
        fields: {
          fleet: 'f-1',
          decision: 'launch/u/i-0abc',
          reasons: ['existing-room'],
          claim: 'c',
          instance: 'i-0abc',
          priceMicrosPerHour: 192_000,
        },
      },
    ]);
    end();
  });

  test('that is made while the bus is away arrives when it is back, dated when it was made', async () => {
    const { decisions, heard, link, advance, counts, end } = await stage();
    link.isAway = true;
    decisions.tell(launch);
    await advance(60_000, 500);
    expect(heard).toEqual([]);
    link.isAway = false;
    await advance(2_005, 50);
    expect(heard).toMatchObject([{ id: launch.id, atMs: startMs }]);
    expect(counts.get('dovetail_decisions_dropped_total')).toBeUndefined();
    end();
  });

  test('is told once, however often it is made', async () => {
    const { decisions, heard, advance, lines, end } = await stage();
    decisions.tell(launch);
    decisions.tell({ ...launch, summary: 'again' });
    await advance(120_000, 1_000);
    decisions.tell(launch);
    await advance(5);
    expect([heard.length, lines.length]).toEqual([1, 1]);
    end();
  });
});

describe('the work that a decision ends', () => {
  const work = { traceId: 'c0ffee'.padEnd(32, '0'), parentId: 'beef'.padEnd(16, '0') };

  test('is a span by the clock of the service, whose trace the decision and its message name', async () => {
    const { decisions, heard, spans, advance, bus, end } = await stage();
    decisions.tell(launch, { ...work, sinceMs: startMs - 700 });
    await advance(5);
    expect(heard).toMatchObject([{ id: launch.id, traceId: work.traceId }]);
    expect(spans).toMatchObject([
      { ...work, name: 'launch', startMs: startMs - 700, endMs: startMs },
    ]);
    const subject = subjects.decision('lab', 'launch', undefined);
    const kept = await bus.lastMessage(streamName('lab', 'decisions'), subject);
    expect(kept?.headers['traceparent']).toBe(`00-${work.traceId}-${spans[0]?.spanId ?? ''}-01`);
    end();
  });

  test('is the same span if another process tells it again', async () => {
    const [one, other] = [await stage(), await stage()];
    for (const { decisions } of [one, other]) decisions.tell(launch, { ...work, sinceMs: startMs });
    one.decisions.tell(launch, { ...work, sinceMs: startMs });
    expect(one.spans).toHaveLength(1);
    expect(other.spans).toEqual(one.spans);
    one.end();
    other.end();
  });

  test.each([
    ['that is dropped', () => false, { ...work, sinceMs: startMs }],
    ['that it does not belong to', () => true, undefined],
  ])('is no span in a trace %s', async (_what, keeps, given) => {
    const { decisions, heard, spans, advance, end } = await stage(keeps);
    decisions.tell(launch, given);
    await advance(5);
    expect([spans, heard.map(({ traceId }) => traceId)]).toEqual([[], [undefined]]);
    end();
  });
});
