import type { KubeEvent } from '@dovetail/core-kube-model';
import { KubeError, type KubeObject, kubeResources, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { outside } from '../testing/outside.js';
import { EventRecorder } from './event-recorder.js';

const event = (message = 'm', name = 'n'): KubeEvent => ({
  about: { apiVersion: 'v1', kind: 'Node', name, uid: `uid-${name}` },
  type: 'Normal',
  reason: 'Drained',
  message,
});

function stage(service = 'reaper') {
  const at = outside();
  const stop = new Stopper();
  const api = { isAway: false };
  const create = (...args: Parameters<typeof at.kube.create>): Promise<KubeObject> =>
    api.isAway
      ? Promise.reject(new KubeError('unavailable', 'no connection'))
      : at.kube.create(...args);
  const patch: typeof at.kube.patch = (...args) => at.kube.patch(...args);
  const recorder = new EventRecorder({ ...at, kube: { create, patch } }, service);
  const written = async (): Promise<readonly KubeObject[]> =>
    at.kube.list(kubeResources.events, { namespace: 'default' });
  const run = (): Promise<void> => recorder.run(stop);
  return { ...at, api, stop, recorder, run, written };
}

describe('an Event', () => {
  test.each(['launcher', 'reaper'])('of the %s says where it comes from', async (service) => {
    const { recorder, run, written, advance } = stage(service);
    void run();
    recorder.record(event());
    await advance(5);
    expect(await written()).toMatchObject([
      {
        reason: 'Drained',
        message: 'm',
        count: 1,
        involvedObject: { kind: 'Node', name: 'n', uid: 'uid-n' },
        source: { component: `dovetail-${service}` },
        reportingComponent: `dovetail-${service}`,
      },
    ]);
  });

  test('is written once within two minutes, and then raises its count', async () => {
    const { recorder, run, written, advance, clock } = stage();
    void run();
    for (const afterMs of [0, 60_000, 59_999]) {
      clock.advance(afterMs);
      recorder.record(event());
      await advance(0);
      expect(await written()).toMatchObject([{ count: 1 }]);
    }
    clock.advance(1);
    recorder.record(event());
    await advance(0);
    expect(await written()).toMatchObject([
      { count: 2, firstTimestamp: '2026-11-22T00:00:00Z', lastTimestamp: '2026-11-22T00:02:00Z' },
    ]);
  });

  test('counts as a repeat for as long as its kind does, and by the text that it is known by', async () => {
    const { recorder, run, written, advance, clock } = stage();
    void run();
    const repeat = { afterMs: 900_000, sameAs: 'node' };
    for (const [message, afterMs] of [
      ['a', 0],
      ['b', 899_999],
      ['b', 1],
    ] as const) {
      clock.advance(afterMs);
      recorder.record(event(message), repeat);
      await advance(0);
    }
    expect((await written()).map((one) => [one['message'], one['count']])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  test('of a process that was restarted raises the count of the one that is there', async () => {
    const { recorder, run, written, advance, stop, ...at } = stage();
    void run();
    recorder.record(event());
    await advance(0);
    const successor = new EventRecorder(at, 'reaper');
    successor.record(event());
    void successor.run(stop);
    await advance(0);
    expect(await written()).toMatchObject([{ count: 2 }]);
  });

  test('that is not taken is logged and forgotten; nothing fails with it', async () => {
    const { recorder, run, written, advance, api, lines } = stage();
    void run();
    api.isAway = true;
    recorder.record(event('lost'));
    await advance(0);
    api.isAway = false;
    recorder.record(event('next'));
    await advance(0);
    expect(await written()).toMatchObject([{ message: 'next' }]);
    expect(lines).toMatchObject([
      { level: 'debug', name: 'event-not-written', fields: { reason: 'Drained', about: 'n' } },
    ]);
  });

  test('is dropped as the oldest when too many wait, and counted', async () => {
    const { recorder, counts } = stage();
    for (let count = 0; count < 5_003; count += 1) recorder.record(event(String(count)));
    await Promise.resolve();
    expect([recorder.waiting(), counts.get('dovetail_events_dropped_total')]).toEqual([5_000, 3]);
  });

  test('that warns is kept and written before others', async () => {
    const { recorder, run, kube, written, advance } = stage();
    recorder.record({ ...event('spot'), type: 'Warning' });
    for (let count = 0; count < 5_003; count += 1) recorder.record(event(String(count)));
    recorder.record({ ...event('failed'), type: 'Warning' });
    const made: unknown[] = [];
    const { create } = kube;
    kube.create = (resource, object) => {
      made.push(object['message']);
      return create.call(kube, resource, object);
    };
    void run();
    await advance(0);
    expect((await written()).length).toBeGreaterThan(2);
    expect(made.slice(0, 2)).toEqual(['spot', 'failed']);
  });

  test('has a name that Kubernetes takes, however long that of its object is', async () => {
    const { recorder, run, written, advance } = stage();
    void run();
    recorder.record(event('m', 'n'.repeat(253)));
    await advance(0);
    expect((await written()).map(({ metadata }) => metadata.name.length)).toEqual([253]);
  });
});
