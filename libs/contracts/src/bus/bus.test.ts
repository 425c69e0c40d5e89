import { createHash } from 'node:crypto';

import { present } from '@dovetail/core-invariant';
import { type Bus, BusError, Stopper } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock } from '@dovetail/sim-clock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { encodeStateRecord } from '../codec/index.js';
import {
  blobHeader,
  type Channel,
  followDecisions,
  followState,
  limits,
  placeOfBatch,
  planIdOf,
  publishBatch,
  publishDecision,
  publishHead,
  publishPlan,
  publishState,
  publishVerdict,
  requestGap,
  requestPlan,
  requestSearch,
  servePlanner,
  streamHeader,
  streamName,
  streamSpecs,
  subjects,
  traceparentOf,
  workBatches,
  workPlans,
} from '../index.js';
import {
  sampleFound,
  sampleGap,
  sampleGapRequest,
  sampleSearchRequest,
} from '../testing/sample-searches.js';
import {
  sampleBatch,
  sampleDecision,
  samplePlan,
  samplePlanMessage,
  sampleRecords,
  sampleReply,
  sampleRequest,
} from '../testing/samples.js';

const cluster = 'lab';

type Times = Parameters<typeof requestGap>[1];

const hash = {
  sha256Hex: (text: string): string => createHash('sha256').update(text).digest('hex'),
};

let clock = virtualClock(0);

let server = new MemoryBusServer(clock);

let channel: Channel & { readonly bus: Bus };

let stop = new Stopper();

beforeEach(async () => {
  clock = virtualClock(1_700_000_000_000);
  server = new MemoryBusServer(clock);
  stop = new Stopper();
  channel = { bus: memoryBus(server), cluster, source: 'test', clock, hash };
  await channel.bus.ensureStreams(streamSpecs(cluster));
});

afterEach(() => stop.abort());

/** The first events of a follower, up to `caught-up`. */
async function heard<T extends { readonly kind: string }>(
  events: AsyncIterable<T>,
): Promise<readonly T[]> {
  const seen: T[] = [];
  for await (const event of events) {
    if (event.kind === 'caught-up') break;
    seen.push(event);
  }
  return seen;
}

/** One of each kind, and a tombstone of another object. */
const records = sampleRecords.map((record) =>
  record.kind === 'gone' ? { ...record, uid: 'claim-before' } : record,
);

const firstOf = async <T>(items: AsyncIterable<T>): Promise<T> => {
  for await (const item of items) return item;
  throw new Error('nothing came');
};

describe('the state feed', () => {
  test('every kind is told and heard', async () => {
    for (const record of records) await publishState(channel, record);
    const seen = await heard(followState(channel, stop));
    expect(seen.map((event) => (event.kind === 'record' ? event.record : event))).toEqual(records);
  });
  test('kinds can be chosen', async () => {
    for (const record of records) await publishState(channel, record);
    const seen = await heard(followState(channel, stop, { kinds: ['promise', 'verdict'] }));
    expect(
      seen.map((event) =>
        event.kind === 'record' && event.record.kind === 'set'
          ? event.record.state.kind
          : event.kind,
      ),
    ).toEqual(['promise', 'verdict']);
  });
  test("a record under another object's subject is refused", async () => {
    const [record] = records;
    await channel.bus.publish({
      subject: subjects.state(cluster, 'pod', 'someone-else'),
      payload: encodeStateRecord(record!),
      headers: { [streamHeader]: streamName(cluster, 'state') },
    });
    expect(await heard(followState(channel, stop))).toMatchObject([
      {
        kind: 'malformed',
        field: 'uid',
        reason: expect.stringMatching(/belongs to dovetail\.lab\.state\.v1\.pod\.pod-uid/),
      },
    ]);
  });
  test('tombstones and verdicts leave the feed by themselves, objects stay', async () => {
    for (const record of records) await publishState(channel, record);
    await clock.advance(Math.max(limits.tombstoneMs, limits.verdictMs) + 1_000);
    const seen = await heard(followState(channel, stop));
    expect(seen).toHaveLength(records.length - 2);
  });
  test('whoever expects what is no longer the last is refused', async () => {
    const ack = await publishHead(
      channel,
      { epoch: 1, number: 1 },
      { generation: '1.1', expect: 0 },
    );
    await expect(
      publishHead(channel, { epoch: 1, number: 2 }, { generation: '1.2', expect: 0 }),
    ).rejects.toMatchObject({ code: 'wrong-last-sequence' });
    await publishHead(
      channel,
      { epoch: 1, number: 2 },
      { generation: '1.2', expect: ack.sequence },
    );
  });
  test('the same telling is heard once, a retelling after a purge again', async () => {
    const verdict = {
      podUid: 'p',
      outcome: 'admitted',
      planId: 'x',
      binId: 'bin-0',
      admission: { epoch: 1, number: 1 },
      reasons: [],
      atMs: 0,
    } as const;
    expect(await publishVerdict(channel, verdict, { generation: '1.1' })).toMatchObject({
      duplicate: false,
    });
    server.purgeStream(streamName(cluster, 'state'));
    expect(await publishVerdict(channel, verdict, { generation: '1.1' })).toMatchObject({
      duplicate: true,
    });
    expect(await publishVerdict(channel, verdict, { generation: '1.2' })).toMatchObject({
      duplicate: false,
    });
  });
});

describe('queues', () => {
  test('a batch and a plan reach their workers', async () => {
    await publishBatch(channel, sampleBatch);
    await publishPlan(channel, samplePlanMessage);
    expect((await firstOf(workBatches(channel, stop))).read).toEqual({
      ok: true,
      value: sampleBatch,
    });
    expect((await firstOf(workPlans(channel, stop))).read).toEqual({
      ok: true,
      value: samplePlanMessage,
    });
  });
  test('messages carry CloudEvents headers and the trace of their round', async () => {
    await publishBatch(channel, sampleBatch);
    const work = await firstOf(workBatches(channel, stop));
    expect(work.item.message.headers).toMatchObject({
      'ce-type': 'dovetail.v1.PendingBatch',
      'ce-source': '/dovetail/lab/test',
      'ce-id': 'batch/g1/3.7',
      traceparent: traceparentOf(placeOfBatch(channel, sampleBatch)),
    });
  });
  test('what is too large for a message travels in parts, and only its manifest is queued', async () => {
    const podUids = Array.from(
      { length: 40_000 },
      (_, index) => `6f0e3c1a-9d7b-4a51-8f2e-${String(index).padStart(12, '0')}`,
    );
    await publishBatch(channel, { ...sampleBatch, podUids });
    const { item, read } = await firstOf(workBatches(channel, stop));
    expect(item.message.payload.length).toBeLessThan(200);
    expect(item.message.headers[blobHeader]).toBe('blob');
    expect(read).toEqual({ ok: true, value: { ...sampleBatch, podUids } });
  });
  test('a large message whose parts are gone is refused by name', async () => {
    const podUids = Array.from(
      { length: 40_000 },
      (_, index) => `6f0e3c1a-9d7b-4a51-8f2e-${String(index).padStart(12, '0')}`,
    );
    await publishBatch(channel, { ...sampleBatch, podUids });
    server.purgeStream(streamName(cluster, 'blobs'));
    expect((await firstOf(workBatches(channel, stop))).read).toMatchObject({
      ok: false,
      field: 'blob.parts',
    });
  });
  test('a large message whose parts the bus does not give now comes again', async () => {
    const podUids = Array.from(
      { length: 40_000 },
      (_, index) => `pod-uid-${String(index)}-of-many`,
    );
    await publishBatch(channel, { ...sampleBatch, podUids });
    let failures = 2;
    const { bus } = channel;
    const failing: Bus = Object.assign(Object.create(bus) as Bus, {
      work: bus.work.bind(bus),
      lastMessage: (stream: string, subject: string) => {
        failures -= 1;
        return failures >= 0
          ? Promise.reject(new BusError('timeout', 'no answer'))
          : bus.lastMessage(stream, subject);
      },
    });
    const working = firstOf(workBatches({ ...channel, bus: failing }, stop));
    for (let tries = 0; tries < 3; tries += 1) await clock.advance(2_000);
    const { read, item } = await working;
    expect(read).toEqual({ ok: true, value: { ...sampleBatch, podUids } });
    expect(item.deliveries).toBe(3);
  });
  test("a plan's id is its content: not who made it, when, or how fast", () => {
    const { id: _id, ...draft } = samplePlanMessage;
    const id = planIdOf(hash, draft);
    expect(planIdOf(hash, { ...draft, solver: 'other', createdMs: 1, solveMs: 9 })).toBe(id);
    expect(planIdOf(hash, { ...draft, admissionSeen: { epoch: 3, number: 12 } })).not.toBe(id);
    expect(planIdOf(hash, { ...draft, plan: { ...samplePlan, priceMicrosPerHour: 1 } })).not.toBe(
      id,
    );
  });
});

describe('decisions', () => {
  test('are kept, in order, and can be chosen by kind', async () => {
    for (const [index, kind] of (['plan', 'launch', 'plan'] as const).entries())
      await publishDecision(channel, { ...sampleDecision, kind, id: `${kind}-${String(index)}` });
    const seen = await heard(followDecisions(channel, stop, { kinds: ['plan'] }));
    expect(
      seen.map((event) => (event.kind === 'decision' ? event.decision.kind : event.kind)),
    ).toEqual(['plan', 'plan']);
  });
  test('come once each, also if one was published again after the window of the bus', async () => {
    const ids = ['a', 'b', 'a', 'c', 'b'];
    for (const id of ids) {
      await publishDecision(channel, { ...sampleDecision, id });
      await clock.advance(limits.duplicateWindowMs + 1_000);
    }
    const seen = await heard(followDecisions(channel, stop));
    expect(
      seen.map((event) => (event.kind === 'decision' ? event.decision.id : event.kind)),
    ).toEqual(['a', 'b', 'c']);
  });
  test('name at most twenty alternatives', async () => {
    await publishDecision(channel, {
      ...sampleDecision,
      alternatives: Array.from({ length: 50 }, (_, index) => ({ what: String(index) })),
    });
    const [event] = await heard(followDecisions(channel, stop));
    expect(event?.kind === 'decision' ? event.decision.alternatives.length : 0).toBe(20);
  });
});

describe('the planner', () => {
  const ask = (mode: 'plan' | 'explain' = 'plan'): ReturnType<typeof requestPlan> =>
    requestPlan(channel, mode, sampleRequest, { timeoutMs: 60_000 });

  test('nobody there is an error of the bus', async () => {
    await expect(ask()).rejects.toMatchObject({ code: 'no-responders' });
  });
  test('answers and refuses', async () => {
    void servePlanner(
      channel,
      (mode, request) =>
        Promise.resolve(
          mode === 'plan'
            ? { ok: true, reply: { ...sampleReply, planId: request.podUids.join() } }
            : { ok: false, code: 'not-ready', message: 'wait' },
        ),
      stop,
    );
    expect(await ask()).toEqual({ ok: true, reply: { ...sampleReply, planId: 'a' } });
    expect(await ask('explain')).toEqual({ ok: false, code: 'not-ready', message: 'wait' });
  });
  test('a handler that fails, and a request that cannot be read, are refusals', async () => {
    void servePlanner(channel, () => Promise.reject(new Error('a bug')), stop);
    expect(await ask()).toEqual({ ok: false, code: 'failed', message: 'a bug' });
    const raw = await channel.bus.request(subjects.planner(cluster, 'plan'), new Uint8Array([9]), {
      timeoutMs: 60_000,
    });
    expect(Buffer.from(raw.payload).toString()).toMatch(/malformed-request/);
  });
  test.each([
    [
      'a search',
      (times: Times) => requestSearch(channel, present(sampleSearchRequest.search, ''), times),
      { ok: true, found: sampleFound } as const,
      { ...sampleSearchRequest, budgetMs: 500 },
    ],
    [
      'a question for the gap',
      (times: Times) => requestGap(channel, times),
      { ok: true, gap: sampleGap } as const,
      { ...sampleGapRequest, budgetMs: 500 },
    ],
  ])('%s takes no plan for an answer, and no plan is that', async (_, asks, answer, request) => {
    const times = { budgetMs: 500, timeoutMs: 60_000 };
    const asked: unknown[] = [];
    const planning = new Stopper();
    const plain = Promise.resolve({ ok: true, reply: sampleReply } as const);
    void servePlanner(channel, () => plain, planning);
    expect(await asks(times)).toMatchObject({ code: 'malformed-answer' });
    planning.abort();
    const noting = (_mode: string, one: unknown) => (asked.push(one), Promise.resolve(answer));
    void servePlanner(channel, noting, stop);
    expect([await asks(times), asked]).toEqual([answer, [request]]);
    expect(await ask()).toMatchObject({ ok: false, code: 'malformed-answer' });
  });
  test('an answer that is too large lies in parts', async () => {
    const unplaced = Array.from({ length: 30_000 }, (_, index) => ({
      podUid: `6f0e3c1a-9d7b-4a51-${String(index).padStart(12, '0')}`,
      reasons: [],
    }));
    const reply = { ...sampleReply, plan: { ...samplePlan, unplaced } };
    void servePlanner(channel, () => Promise.resolve({ ok: true, reply }), stop);
    expect(await ask()).toEqual({ ok: true, reply });
  });
});
