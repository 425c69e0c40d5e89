import {
  followState,
  publishState,
  type StateKind,
  type StateRecord,
  type StateValue,
  streamName,
  subjects,
} from '@dovetail/contracts';
import { BusError, type PublishAck, Stopper } from '@dovetail/core-ports';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';

import { cluster, outside, overriding } from '../testing/outside.js';
import { FeedMirror } from './feed-mirror.js';

const kinds = ['namespace', 'promise'] as const satisfies readonly StateKind[];
const namespace = (uid: string, name: string, resourceVersion = '1'): StateValue => ({
  kind: 'namespace',
  value: { uid, name, resourceVersion, labels: {} },
});
const record = (uid: string, name: string, generation: string): StateRecord => ({
  kind: 'set',
  uid,
  state: namespace(uid, name),
  generation,
});

const running: Stopper[] = [];
afterEach(() => {
  for (const stop of running.splice(0)) stop.abort();
});

type Outside = ReturnType<typeof outside>;

/** A mirror that follows the stream, on a bus that the test can take away. */
function mirrorOn(at: Outside, epoch = 1) {
  const stop = new Stopper();
  running.push(stop);
  const link = { isAway: false, published: 0, refuses: '', ackMs: 0 };
  const publish = async (...args: Parameters<typeof at.bus.publish>): Promise<PublishAck> => {
    if (link.isAway) throw new BusError('unavailable', 'no connection');
    if (link.refuses !== '' && args[0].subject.endsWith(`.${link.refuses}`))
      throw new BusError('full', 'maximum bytes exceeded');
    link.published += 1;
    const ack = await at.bus.publish(...args);
    if (link.ackMs > 0) await at.clock.sleep(link.ackMs, stop);
    return ack;
  };
  const channel = { ...at.channel, bus: overriding(at.bus, { publish }) };
  const mirror = new FeedMirror({ channel, log: at.log, metrics: at.metrics, epoch, kinds });
  void mirror.run(stop);
  void (async () => {
    for await (const event of followState(at.channel, stop, { kinds: [...kinds] }))
      mirror.heard(event);
  })();
  return { mirror, link, end: () => stop.abort() };
}

/** The names that the stream holds by UID; `gone` for a tombstone. */
async function held(at: Outside): Promise<Readonly<Record<string, string>>> {
  const stop = new Stopper();
  const found: Record<string, string> = {};
  for await (const event of followState(at.channel, stop, { kinds: [...kinds] })) {
    if (event.kind === 'caught-up') break;
    if (event.kind !== 'record') continue;
    const { state } = event.record.kind === 'set' ? event.record : { state: undefined };
    found[event.record.uid] = state?.kind === 'namespace' ? state.value.name : 'gone';
  }
  return found;
}

async function stage() {
  const at = outside();
  await at.ensureStreams();
  const first = mirrorOn(at);
  await at.advance(5);
  return { at, ...first };
}

describe('a mirror of the state feed', () => {
  test('publishes what is set and what is gone', async () => {
    const { at, mirror } = await stage();
    mirror.set('a', namespace('a', 'one'));
    mirror.set('b', namespace('b', 'two'));
    await at.advance(10);
    mirror.gone('namespace', 'b');
    await at.advance(10);
    expect(await held(at)).toEqual({ a: 'one', b: 'gone' });
    expect([mirror.settled, mirror.backlog]).toEqual([true, 0]);
  });

  test('publishes nothing when only the resourceVersion has changed', async () => {
    const { at, mirror, link } = await stage();
    for (const version of ['1', '2', '3']) {
      mirror.set('a', namespace('a', 'one', version));
      await at.advance(10);
    }
    expect(link.published).toBe(1);
  });

  test('publishes a value again after it went back and forth', async () => {
    const { at, mirror } = await stage();
    for (const name of ['one', 'two', 'one']) {
      mirror.set('a', namespace('a', name));
      await at.advance(10);
    }
    expect(await held(at)).toEqual({ a: 'one' });
  });

  test('waits for the bus and then publishes the newest value only', async () => {
    const { at, mirror, link } = await stage();
    link.isAway = true;
    mirror.set('a', namespace('a', 'one'));
    await at.advance(1_000);
    mirror.set('a', namespace('a', 'two'));
    link.isAway = false;
    await at.advance(200);
    expect([await held(at), link.published]).toEqual([{ a: 'two' }, 1]);
  });

  test('lets a caller wait until objects are published', async () => {
    const { at, mirror, link } = await stage();
    link.isAway = true;
    mirror.set('a', namespace('a', 'one'));
    let isDone = false;
    void mirror.untilPublished('namespace', ['a'], new Stopper()).then(() => (isDone = true));
    await at.advance(300);
    expect(isDone).toBe(false);
    link.isAway = false;
    await at.advance(200);
    expect(isDone).toBe(true);
  });

  test('leaves what a predecessor published as it is, and ends what nothing wants', async () => {
    const { at, mirror, end } = await stage();
    mirror.set('stays', namespace('stays', 'one'));
    mirror.set('goes', namespace('goes', 'two'));
    mirror.set('broken', namespace('broken', 'three'));
    await at.advance(10);
    end();
    const successor = mirrorOn(at, 2);
    await at.advance(10);
    successor.mirror.set('stays', namespace('stays', 'one'));
    const repaired = successor.mirror.reconcile({
      complete: () => true,
      isUnreadable: (uid) => uid === 'broken',
    });
    await at.advance(10);
    expect(repaired).toEqual({ lost: 0, surplus: 1 });
    expect(await held(at)).toEqual({ stays: 'one', goes: 'gone', broken: 'three' });
    expect(successor.link.published).toBe(1);
  });

  test('ends nothing before its owner has seen everything', async () => {
    const { at } = await stage();
    await publishState(at.channel, record('a', 'one', '0.1'));
    await at.advance(10);
    const { mirror } = mirrorOn(at, 2);
    await at.advance(10);
    expect(mirror.reconcile({ complete: () => false })).toEqual({ lost: 0, surplus: 0 });
    await at.advance(10);
    expect(await held(at)).toEqual({ a: 'one' });
  });

  test('writes over another of an earlier epoch, with the sequence that it sees', async () => {
    const { at, mirror } = await stage();
    mirror.set('a', namespace('a', 'one'));
    await at.advance(10);
    await publishState(at.channel, record('a', 'other', '0.7'));
    await at.advance(50);
    expect(await held(at)).toEqual({ a: 'one' });
  });

  test('is silent about a subject once a successor has published to it', async () => {
    const { at, mirror, lines } = await stage().then((all) => ({ ...all, lines: all.at.lines }));
    mirror.set('a', namespace('a', 'one'));
    await at.advance(10);
    await publishState(at.channel, record('a', 'successor', '9.1'));
    await at.advance(50);
    mirror.set('a', namespace('a', 'two'));
    await at.advance(50);
    expect(await held(at)).toEqual({ a: 'successor' });
    expect(lines.map(({ name }) => name)).toContain('deposed');
  });

  test('publishes all of it again when the stream is lost', async () => {
    const { at, mirror } = await stage();
    mirror.set('a', namespace('a', 'one'));
    await at.advance(10);
    const subject = subjects.state(cluster, 'namespace', 'a');
    at.server.deleteStream(streamName(cluster, 'state'));
    await at.ensureStreams();
    await at.advance(5_000, 100);
    expect(await at.bus.lastMessage(streamName(cluster, 'state'), subject)).toBeDefined();
    expect(at.counts.get('dovetail_state_repaired_total')).toBe(1);
  });

  test('finds a message that was deleted alone by an audit', async () => {
    const { at, mirror } = await stage();
    mirror.set('a', namespace('a', 'one'));
    await at.advance(10);
    const subject = subjects.state(cluster, 'namespace', 'a');
    const stream = streamName(cluster, 'state');
    const last = await at.bus.lastMessage(stream, subject);
    at.server.streams.get(stream)?.remove(last?.sequence ?? 0);
    await mirror.audit();
    expect(mirror.reconcile({ complete: () => true })).toEqual({ lost: 1, surplus: 0 });
    await at.advance(10);
    expect(await held(at)).toEqual({ a: 'one' });
  });

  test('lets other records pass while the bus refuses one, and takes it once there is room', async () => {
    const { at, mirror, link } = await stage();
    link.refuses = 'a';
    mirror.set('a', namespace('a', 'one'));
    for (let index = 0; index < 40; index += 1) {
      mirror.set('b', namespace('b', `value ${index}`));
      await at.advance(10);
      expect(await held(at)).toEqual({ b: `value ${index}` });
    }
    link.refuses = '';
    await at.advance(5_000);
    expect(await held(at)).toEqual({ a: 'one', b: 'value 39' });
  });

  test('publishes again what was acknowledged only after the stream was lost', async () => {
    const { at, mirror, link } = await stage();
    link.ackMs = 5_000;
    mirror.set('a', namespace('a', 'one'));
    await at.advance(100);
    at.server.deleteStream(streamName(cluster, 'state'));
    await at.ensureStreams();
    await at.advance(20_000, 50);
    expect([await held(at), mirror.settled]).toEqual([{ a: 'one' }, true]);
  });

  test.each([
    ['not before ten seconds', 9_000, 0],
    ['after ten seconds', 16_000, 1],
    ['once a minute', 60_000, 1],
    ['again after a minute', 80_000, 2],
  ])('reports what the bus refuses %s', async (_when, ms, times) => {
    const { at, mirror, link } = await stage();
    link.refuses = 'a';
    mirror.set('a', namespace('a', 'one'));
    await at.advance(ms, 500);
    expect(at.lines.filter(({ name }) => name === 'state-refused')).toHaveLength(times);
  });

  test('reports a value that cannot be published once, and goes on', async () => {
    const { at, mirror } = await stage();
    const bad = { kind: 'namespace', value: { uid: 'a' } } as unknown as StateValue;
    mirror.set('a', bad);
    mirror.set('b', namespace('b', 'two'));
    await at.advance(500);
    expect(await held(at)).toEqual({ b: 'two' });
    expect(at.counts.get('dovetail_state_refused_total')).toBe(1);
  });

  test('does not write what belongs to another service', async () => {
    const { mirror } = await stage();
    expect(() => mirror.gone('pod', 'a')).toThrow('a service writes only its own kinds');
  });

  const step = fc.record({
    uid: fc.constantFrom('a', 'b', 'c'),
    name: fc.constantFrom('one', 'two', undefined),
    isAway: fc.boolean(),
    intrudes: fc.boolean(),
    afterMs: fc.constantFrom(0, 5, 150),
  });

  test('ends up equal to what was asked for, whatever happens to the bus', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { at, mirror, link, end } = await stage();
        const wanted = new Map<string, string | undefined>();
        for (const [order, { uid, name, isAway, intrudes, afterMs }] of steps.entries()) {
          link.isAway = isAway;
          wanted.set(uid, name);
          if (name === undefined) mirror.gone('namespace', uid);
          else mirror.set(uid, namespace(uid, name));
          if (intrudes) await publishState(at.channel, record(uid, 'other', `0.${String(order)}`));
          await at.advance(afterMs);
        }
        link.isAway = false;
        await at.advance(500, 50);
        mirror.reconcile({ complete: () => true });
        await at.advance(500, 50);
        const found = await held(at);
        for (const [uid, name] of wanted) expect(found[uid] ?? 'gone').toBe(name ?? 'gone');
        expect(mirror.settled).toBe(true);
        end();
      }),
      { numRuns: 20 },
    );
  });
});
