import type { Outcome } from '@dovetail/core-ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { SinksStage, TestReceiver } from './testing/sinks-stage.js';

let stage: SinksStage;
beforeEach(async () => {
  stage = await new SinksStage().begin();
});
afterEach(() => stage.end());

const again: Outcome = { kind: 'again', reason: 'it answered 503' };
const refused: Outcome = { kind: 'refused', reason: 'it answered 400: bad' };
const decideAll = async (...ids: readonly string[]): Promise<void> => {
  for (const id of ids) await stage.decide(id);
};
const untilTaken = (receiver: TestReceiver, count: number): Promise<boolean> =>
  stage.until(`${String(count)} decisions`, () => receiver.taken.length >= count, 86_400_000);

describe('a decision', () => {
  test('comes as the CloudEvent that it is on NATS, with its JSON and its line', async () => {
    const receiver = new TestReceiver(stage);
    stage.sinks({ receiver });
    await stage.decide('launch/1', {
      pool: { kind: 'NodePool', name: 'default' },
      priceMicrosPerHour: 272_000,
      priceEstimated: true,
      reasons: [{ code: 'capacity-error', message: 'none left', values: {} }],
    });
    await untilTaken(receiver, 1);
    expect(receiver.parcels[0]).toMatchObject({
      event: {
        id: 'decision/launch/1',
        source: '/dovetail/lab/test',
        type: 'dovetail.v1.Decision.launch',
        subject: 'NodeClaim/claim-a',
        time: '2026-11-21T12:00:00.000Z',
        data: { id: 'launch/1', kind: 'launch', priceMicrosPerHour: 272_000 },
      },
      text: 'launch (lab, default): launched launch/1 · $~0.2720/h · capacity-error',
    });
  });

  test('comes after all decisions before it', async () => {
    const receiver = new TestReceiver(stage);
    receiver.answer = ({ event }) =>
      event.id.endsWith('b') && receiver.calls.length < 5 ? again : { kind: 'taken' };
    stage.sinks({ receiver });
    await decideAll('a', 'b', 'c', 'd');
    await untilTaken(receiver, 4);
    expect(receiver.taken).toEqual(['a', 'b', 'c', 'd']);
  });

  test('that was published twice comes once', async () => {
    const receiver = new TestReceiver(stage);
    stage.sinks({ receiver });
    await stage.decide('a');
    await stage.advance(120_000);
    await decideAll('a', 'b');
    await untilTaken(receiver, 2);
    expect(receiver.taken).toEqual(['a', 'b']);
  });

  test.each([
    [{ kinds: ['drain'] }, ['2']],
    [{ reasons: ['empty'] }, ['2', '3']],
    [{ pools: ['blue'] }, ['3']],
    [{ kinds: ['drain'], pools: ['blue'] }, []],
    [{}, ['1', '2', '3', 'end']],
  ] as const)('passes the filter %j only if it matches', async (filter, expected) => {
    const [receiver, all] = [new TestReceiver(stage), new TestReceiver(stage)];
    stage.sinks({ receiver, ...filter }, { receiver: all, name: 'all' });
    const reasons = [{ code: 'empty', message: 'm', values: {} }] as const;
    await stage.decide('1');
    await stage.decide('2', { kind: 'drain', reasons });
    await stage.decide('3', { reasons, pool: { kind: 'NodePool', name: 'blue' } });
    await stage.decide('end');
    await untilTaken(all, 4);
    await stage.advance(10_000);
    expect(receiver.taken).toEqual(expected);
  });
});

describe('a receiver that fails', () => {
  test('is asked again after 1, 2, 4 … seconds, and after a minute at most', async () => {
    const receiver = new TestReceiver(stage);
    receiver.answer = () => again;
    stage.sinks({ receiver });
    await stage.decide('a');
    await stage.until('nine calls', () => receiver.calls.length >= 9);
    const times = receiver.calls.map(({ atSeconds }) => Math.round(atSeconds));
    expect(times.slice(1).map((each, at) => each - (times[at] ?? 0))).toEqual([
      1, 2, 4, 8, 16, 32, 60, 60,
    ]);
    expect(await stage.deadLetters()).toEqual([]);
  });

  test('is left alone for as long as it asks', async () => {
    const receiver = new TestReceiver(stage);
    receiver.answer = () =>
      receiver.calls.length === 1 ? { ...again, waitMs: 300_000 } : { kind: 'taken' };
    stage.sinks({ receiver });
    await stage.decide('a');
    await untilTaken(receiver, 1);
    const [first, second] = receiver.calls.map(({ atSeconds }) => atSeconds);
    expect(Math.round((second ?? 0) - (first ?? 0))).toBe(300);
  });

  test('holds up no other sink', async () => {
    const [down, up] = [new TestReceiver(stage), new TestReceiver(stage)];
    down.answer = () => again;
    stage.sinks({ receiver: down }, { receiver: up });
    await decideAll('a', 'b', 'c');
    await stage.until('the others', () => up.taken.length === 3, 5_000);
    expect(up.taken).toEqual(['a', 'b', 'c']);
    expect(down.taken).toEqual([]);
    down.answer = () => ({ kind: 'taken' });
    await untilTaken(down, 3);
    expect(down.taken).toEqual(['a', 'b', 'c']);
  });

  test('for longer than the sink is patient gets old decisions no more, and young ones later', async () => {
    const receiver = new TestReceiver(stage);
    receiver.answer = () => again;
    stage.sinks({ receiver, giveUpAfterMs: 3_600_000 });
    await decideAll('a', 'b');
    await stage.until('the end of both', async () => (await stage.deadLetters()).length === 2, 8e6);
    expect(Math.round(stage.seconds() / 60)).toBe(60);
    await stage.decide('c');
    await stage.advance(60_000);
    receiver.answer = () => ({ kind: 'taken' });
    await untilTaken(receiver, 1);
    expect(receiver.taken).toEqual(['c']);
    expect(await stage.deadLetters()).toMatchObject([
      { id: 'a', sink: 'sink0', reason: 'it answered 503' },
      { id: 'b', sink: 'sink0', attempts: '1' },
    ]);
  });
});

describe('a decision that is refused', () => {
  test('becomes a dead letter at once, with reason and count, and the next one comes', async () => {
    const receiver = new TestReceiver(stage);
    receiver.answer = ({ event }) => (event.id.endsWith('a') ? refused : { kind: 'taken' });
    stage.sinks({ receiver });
    await decideAll('a', 'b');
    await untilTaken(receiver, 1);
    expect(await stage.deadLetters()).toEqual([
      { id: 'a', sink: 'sink0', reason: 'it answered 400: bad', attempts: '1' },
    ]);
    expect(stage.metrics.samples).toContainEqual({
      kind: 'count',
      metric: 'dovetail_sinks_dead_letters_total',
      value: 1,
      labels: { sink: 'sink0', reason: 'refused' },
    });
  });

  test('is kept once the bus is back, and was not lost', async () => {
    const receiver = new TestReceiver(stage);
    receiver.answer = () => {
      if (receiver.calls.length === 1) stage.server.stop();
      return refused;
    };
    stage.sinks({ receiver });
    await stage.decide('a');
    await stage.advance(30_000);
    expect(receiver.calls).toHaveLength(1);
    stage.server.start();
    await stage.until('the letter', async () => (await stage.deadLetters()).length > 0);
    expect((await stage.deadLetters()).map(({ id }) => id)).toEqual(['a']);
  });

  test('because it cannot be read becomes one without an attempt', async () => {
    const receiver = new TestReceiver(stage);
    stage.sinks({ receiver });
    const subject = 'dovetail.lab.decision.v1.launch.-';
    await stage.bus.publish({ subject, payload: new Uint8Array([255]), headers: {} });
    await stage.decide('b');
    await untilTaken(receiver, 1);
    expect(await stage.deadLetters()).toMatchObject([
      { sink: 'sink0', attempts: '0', reason: expect.stringMatching(/^it cannot be read: /) },
    ]);
  });
});

describe('a crash', () => {
  test('between the receiver and the bus repeats the decision under its id, and loses none', async () => {
    const receiver = new TestReceiver(stage);
    let crash = (): void => undefined;
    receiver.answer = ({ event }) => {
      if (event.id.endsWith('b') && receiver.calls.length === 2) {
        // The receiver has it, and the sink is gone before it can tell the bus.
        crash();
        stage.server.stop();
      }
      return { kind: 'taken' };
    };
    crash = stage.sinks({ receiver });
    await decideAll('a', 'b', 'c');
    await stage.advance(3_000);
    stage.server.start();
    stage.sinks({ receiver });
    await untilTaken(receiver, 4);
    expect(receiver.taken).toEqual(['a', 'b', 'b', 'c']);
    expect(new Set(receiver.parcels.map(({ event }) => event.id)).size).toBe(3);
  });

  test('keeps the place of a sink that began with new decisions', async () => {
    await stage.decide('old');
    const receiver = new TestReceiver(stage);
    const end = stage.sinks({ receiver, from: 'now' });
    await stage.advance(1_000);
    await stage.decide('a');
    await untilTaken(receiver, 1);
    end();
    await stage.advance(1_000);
    await stage.decide('while it is away');
    stage.sinks({ receiver, from: 'now' });
    await untilTaken(receiver, 2);
    expect(receiver.taken).toEqual(['a', 'while it is away']);
  });
});

describe('a receiver of batches', () => {
  test('gets decisions together, and those that failed one by one', async () => {
    const receiver = new TestReceiver(stage, 10);
    receiver.answer = ({ event }) =>
      /[bd]$/.test(event.id) && receiver.calls.length === 1 ? again : { kind: 'taken' };
    stage.sinks({ receiver });
    await decideAll('a', 'b', 'c', 'd');
    await untilTaken(receiver, 4);
    expect(receiver.calls.map(({ ids }) => ids)).toEqual([['a', 'b', 'c', 'd'], ['b'], ['d']]);
  });

  test('gets no more than it takes, and hundreds in turn', async () => {
    const receiver = new TestReceiver(stage, 10);
    for (let at = 0; at < 205; at += 1) await stage.decide(`n${String(at)}`);
    stage.sinks({ receiver });
    await untilTaken(receiver, 205);
    expect(Math.max(...receiver.calls.map(({ ids }) => ids.length))).toBe(10);
    expect(receiver.taken).toEqual(Array.from({ length: 205 }, (_, at) => `n${String(at)}`));
    await stage.advance(60_000);
    expect(receiver.taken).toHaveLength(205);
  });

  test('that is slow gets none of them twice', async () => {
    const receiver = new TestReceiver(stage, 10);
    receiver.answer = async () => {
      await stage.clock.sleep(40_000, stage.stop.signal);
      return { kind: 'taken' };
    };
    stage.sinks({ receiver });
    await decideAll('a', 'b');
    await stage.advance(5_000);
    await decideAll('c', 'd');
    await untilTaken(receiver, 4);
    await stage.advance(60_000);
    expect(receiver.taken).toEqual(['a', 'b', 'c', 'd']);
  });
});
