import {
  type Epoch,
  type KubeApi,
  KubeError,
  kubeResources,
  LeadershipLost,
  Stopper,
} from '@dovetail/core-ports';
import { createKubeStore, createManualClock, inProcessKube } from '@dovetail/sim-kube';
import { afterEach, describe, expect, test } from 'vitest';

import { leaseLeadership, type LeaseOptions } from './lease.js';

const startMs = Date.UTC(2026, 10, 22);
const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const place = { namespace: 'kube-system', name: 'dovetail-test' };
const running: Stopper[] = [];
afterEach(() => {
  for (const stop of running.splice(0)) stop.abort();
});

function stage() {
  const ended: string[] = [];
  const clock = createManualClock(startMs);
  const kube = inProcessKube(createKubeStore({ clock, seed: 1 }));
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 8; turn += 1)
      await new Promise<void>((resolve) => void setImmediate(resolve));
  };
  const advance = async (durationMs: number): Promise<void> => {
    await settle();
    for (let leftMs = durationMs; leftMs > 0; leftMs -= 500) {
      clock.advance(Math.min(500, leftMs));
      await settle();
    }
  };
  const options = (identity: string): LeaseOptions => ({
    kube,
    log,
    clock,
    identity,
    durationMs: 15_000,
    onEnded: () => void ended.push(identity),
    ...place,
  });
  /**
   * A replica; `link.isCut` cuts it off from the API server, `link.writesFail` only its writes,
   * `link.aheadMs` moves its time on, and `link.steppedMs` only what its clock shows.
   */
  const replica = (
    identity: string,
    workInHand: Promise<void> = Promise.resolve(),
    durationMs = 15_000,
  ) => {
    const stop = new Stopper();
    running.push(stop);
    const link = { isCut: false, writesFail: false, aheadMs: 0, steppedMs: 0 };
    const cut = new Proxy(kube, {
      get: (target, name) => {
        const method = target[name as keyof KubeApi] as (...given: unknown[]) => unknown;
        return (...given: unknown[]) =>
          link.isCut || (link.writesFail && name === 'replace')
            ? Promise.reject(new KubeError('unavailable', 'cut off'))
            : method.apply(target, given);
      },
    });
    const monotonicMs = (): number => clock.nowMs() + link.aheadMs;
    const own = { ...clock, nowMs: () => monotonicMs() + link.steppedMs };
    const leadership = leaseLeadership({
      ...options(identity),
      durationMs,
      kube: cut,
      clock: own,
      monotonicMs,
    });
    const epochs: Epoch[] = [];
    const ended = leadership.run(stop, async (epoch) => {
      epochs.push(epoch);
      await new Promise<void>((resolve) => epoch.stop.addEventListener('abort', resolve));
      await workInHand;
    });
    return { leadership, link, epochs, stop, ended };
  };
  return { kube, advance, replica, options, ended };
}

describe('a lease', () => {
  test('is lost by a leader whose renewals do not land although it can read, before another takes it', async () => {
    const { advance, replica } = stage();
    const a = replica('a');
    await advance(1_000);
    const b = replica('b');
    await advance(10_000);
    a.link.writesFail = true;
    let [both, alone] = [0, 0];
    for (let ms = 0; ms < 60_000; ms += 500) {
      await advance(500);
      if (a.leadership.held() && b.leadership.held()) both += 500;
      if (!a.leadership.held() && b.leadership.held()) alone += 500;
    }
    expect(both).toBe(0);
    expect(alone).toBeGreaterThan(30_000);
  });

  test('of a leader that is alone is lost, too, while nothing that it writes lands', async () => {
    const { advance, replica } = stage();
    const a = replica('a');
    await advance(10_000);
    a.link.writesFail = true;
    await advance(15_000);
    expect(a.leadership.held()).toBe(false);
    a.link.writesFail = false;
    await advance(30_000);
    expect(a.leadership.held()).toBe(true);
  });

  test('is given up by a leader whose work fails, and its run ends with that error', async () => {
    const { advance, kube, options } = stage();
    let epochs = 0;
    const ended = leaseLeadership(options('a')).run(new Stopper(), () => {
      epochs += 1;
      return Promise.reject(new Error('boom'));
    });
    const failed = expect(ended).rejects.toThrow('boom');
    await advance(60_000);
    await failed;
    expect(epochs).toBe(1);
    const lease = await kube.get({ resource: kubeResources.leases, ...place });
    expect(lease).toMatchObject({ spec: { holderIdentity: '' } });
  });

  test('of a silent leader lasts as long as it says, also for a replica with a shorter setting', async () => {
    const { advance, replica } = stage();
    const a = replica('a', new Promise(() => undefined));
    await advance(1_000);
    const b = replica('b', Promise.resolve(), 3_000);
    await advance(1_000);
    a.link.isCut = true;
    await advance(11_000);
    expect([a.leadership.keepsOthersAway(), b.epochs.length]).toEqual([true, 0]);
    await advance(10_000);
    expect([a.leadership.keepsOthersAway(), b.epochs.length]).toEqual([false, 1]);
  });

  test('that somebody else has taken keeps nobody away from the first answer on that says so', async () => {
    const { advance, replica, kube } = stage();
    // Work in hand, so that the epoch ends later than it is lost.
    const a = replica('a', new Promise(() => undefined));
    await advance(1_000);
    const ref = { resource: kubeResources.leases, ...place };
    const body = { spec: { holderIdentity: 'another' } };
    await kube.patch(ref, { type: 'merge', body });
    const write = a.epochs[0]?.guardedWrite('round');
    await expect(write).rejects.toThrow(LeadershipLost);
    expect([a.leadership.held(), a.leadership.keepsOthersAway()]).toEqual([false, false]);
  });

  test('has one leader among replicas', async () => {
    const { advance, replica } = stage();
    const [a, b] = [replica('a'), replica('b')];
    await advance(60_000);
    expect([a.leadership.held(), b.leadership.held()].sort()).toEqual([false, true]);
    expect(a.epochs.length + b.epochs.length).toBe(1);
  });

  test('is given up and says so with the stop, so that another leads soon in a later epoch', async () => {
    const { advance, replica, ended } = stage();
    const a = replica('a');
    await advance(500);
    const b = replica('b');
    await advance(5_000);
    expect(ended).toEqual([]);
    a.stop.abort();
    await advance(5_000);
    expect(ended).toEqual(['a']);
    expect([a.leadership.held(), b.leadership.held()]).toEqual([false, true]);
    expect(b.leadership.epoch()).toBeGreaterThan(a.epochs[0]?.number ?? Infinity);
  });

  test('of a silent leader is taken after its time, never before', async () => {
    const { advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    const b = replica('b');
    await advance(5_000);
    a.link.isCut = true;
    await advance(8_000);
    expect(b.leadership.held()).toBe(false);
    await advance(20_000);
    expect([a.leadership.held(), b.leadership.held()]).toEqual([false, true]);
    expect(a.epochs[0]?.stop.aborted).toBe(true);
  });

  test('is not held by a leader that wakes from a pause, until it has been renewed', async () => {
    const { advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    expect(a.leadership.held()).toBe(true);
    a.link.aheadMs = 15_000;
    expect(a.leadership.held()).toBe(false);
    await advance(5_500);
    expect(a.leadership.held()).toBe(true);
  });

  test.each([
    ['ahead', 3_600_000],
    ['back', -3_600_000],
  ])('is neither lost nor prolonged when a clock steps an hour %s', async (_way, steppedMs) => {
    const { advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    const b = replica('b');
    await advance(5_000);
    for (const { link } of [a, b]) link.steppedMs = steppedMs;
    expect([a.leadership.held(), b.leadership.held()]).toEqual([true, false]);
    await advance(20_000);
    expect([a.leadership.held(), b.leadership.held()]).toEqual([true, false]);
    a.link.isCut = true;
    await advance(28_000);
    expect([a.leadership.held(), b.leadership.held()]).toEqual([false, true]);
  });

  test('keeps others away until it is given up, lost, or too old', async () => {
    const { kube, advance, replica } = stage();
    let end = (): void => undefined;
    const workInHand = new Promise<void>((resolve) => (end = resolve));
    const ending = replica('a', workInHand);
    const seen: boolean[][] = [];
    const look = ({ leadership }: typeof ending): unknown =>
      seen.push([leadership.held(), leadership.keepsOthersAway()]);
    await advance(500);
    look(ending);
    ending.stop.abort();
    await advance(500);
    look(ending);
    end();
    await advance(500);
    look(ending);
    const b = replica('b', new Promise(() => undefined));
    await advance(500);
    b.link.aheadMs = 15_000;
    look(b);
    b.link.aheadMs = 0;
    const ref = { resource: kubeResources.leases, ...place };
    await kube.patch(ref, { type: 'merge', body: { spec: { holderIdentity: 'successor' } } });
    look(b);
    await expect(b.epochs[0]?.guardedWrite('late')).rejects.toBeInstanceOf(LeadershipLost);
    look(b);
    expect(seen).toEqual([
      [true, true],
      [false, true],
      [false, false],
      [false, false],
      [true, true],
      [false, false],
    ]);
  });

  test('keeps the value of the last guarded write for the next epoch', async () => {
    const { advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    expect(a.epochs[0]?.inherited).toBe('');
    await a.epochs[0]?.guardedWrite('round 7');
    a.stop.abort();
    await advance(500);
    const b = replica('b');
    await advance(500);
    expect(b.epochs[0]?.inherited).toBe('round 7');
  });

  test('refuses the guarded write of a leader that was deposed while it was paused', async () => {
    const { kube, advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    const ref = { resource: kubeResources.leases, ...place };
    await kube.patch(ref, { type: 'merge', body: { spec: { holderIdentity: 'successor' } } });
    await expect(a.epochs[0]?.guardedWrite('late')).rejects.toBeInstanceOf(LeadershipLost);
    expect(a.epochs[0]?.stop.aborted).toBe(true);
    await expect(a.epochs[0]?.guardedWrite('later')).rejects.toBeInstanceOf(LeadershipLost);
  });

  test('that is deleted does not make epochs begin anew', async () => {
    const { kube, advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    a.stop.abort();
    await advance(1_000);
    await kube.delete({ resource: kubeResources.leases, ...place });
    const b = replica('b');
    await advance(500);
    expect(b.leadership.epoch()).toBeGreaterThan(a.epochs[0]?.number ?? Infinity);
  });

  test('that is deleted after a leader whose clock was ahead has an epoch above its work', async () => {
    const { kube, advance, replica } = stage();
    const ahead = replica('a');
    ahead.link.steppedMs = 3_600_000;
    await advance(500);
    const found = ahead.epochs[0]?.number ?? 0;
    ahead.stop.abort();
    await advance(1_000);
    await kube.delete({ resource: kubeResources.leases, ...place });
    const b = replica('b');
    await advance(500);
    expect(b.leadership.epoch()).toBeLessThan(found);
    await b.epochs[0]?.outrun(found);
    await advance(1_000);
    expect(b.leadership.epoch()).toBeGreaterThan(found);
    expect(b.epochs[0]?.stop.aborted).toBe(true);
    await b.epochs[1]?.outrun(found);
    expect(b.epochs[1]?.stop.aborted).toBe(false);
  });

  test('ends the epoch of a leader that was deposed, if it finds the work of its successor', async () => {
    const { kube, advance, replica } = stage();
    const a = replica('a');
    await advance(500);
    const ref = { resource: kubeResources.leases, ...place };
    await kube.patch(ref, { type: 'merge', body: { spec: { holderIdentity: 'successor' } } });
    const number = a.epochs[0]?.number ?? 0;
    await expect(a.epochs[0]?.outrun(number + 1)).rejects.toBeInstanceOf(LeadershipLost);
    const lease = await kube.get(ref);
    expect(lease?.metadata.annotations?.['dovetail.sh/epoch']).toBe(String(number));
  });

  test.each(['1e400', 'many', '-7', '9007199254740991'])(
    'whose epoch someone has set to %j counts from the clock',
    async (text) => {
      const { kube, advance, replica } = stage();
      const a = replica('a');
      await advance(500);
      a.stop.abort();
      await advance(1_000);
      const ref = { resource: kubeResources.leases, ...place };
      const body = { metadata: { annotations: { 'dovetail.sh/epoch': text } } };
      await kube.patch(ref, { type: 'merge', body });
      const b = replica('b');
      await advance(500);
      expect(b.leadership.epoch()).toBeGreaterThanOrEqual(startMs / 1_000);
      expect(b.leadership.epoch()).toBeLessThan(startMs / 1_000 + 60);
    },
  );
});
