import type { KubeEvent } from '@dovetail/core-kube-model';
import {
  type KubeApi,
  KubeError,
  type KubeErrorCode,
  kubeResources,
  type Log,
} from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { tellingCauses } from './cause-events.js';
import { namedFailures } from './kube-failures.js';

const quiet = (): void => undefined;
const lease = {
  resource: kubeResources.leases,
  namespace: 'kube-system',
  name: 'dovetail-launcher',
};

function stage(get: () => Promise<unknown>) {
  const lines: string[] = [];
  const counted: string[] = [];
  const calls: string[] = [];
  let nowMs = 0;
  const clock = {
    nowMs: () => nowMs,
    sleep: (ms: number) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
  const log: Log = {
    debug: (name) => void lines.push(name),
    info: quiet,
    warn: (name) => void lines.push(name),
    error: (name) => void lines.push(name),
  };
  const metrics = {
    count: (name: string, { call, reason = '' }: Readonly<Record<string, string>> = {}) =>
      void (call === undefined ? counted.push(`${name} ${reason}`) : calls.push(`${name} ${call}`)),
    set: quiet,
    remove: quiet,
    observe: quiet,
  };
  const kube = { get } as unknown as KubeApi;
  return {
    lines,
    counted,
    calls,
    clock,
    log,
    metrics,
    kube,
    named: namedFailures(kube, { log, metrics, clock }),
  };
}

describe('what keeps a service from the Kubernetes API', () => {
  test.each<[KubeErrorCode, string[]]>([
    ['denied', ['kubernetes-denied']],
    ['unavailable', ['kubernetes-unreachable']],
    ['not-found', []],
    ['conflict', []],
  ])(
    'a call that fails as %s is named %j, counted each time, and fails all the same',
    async (code, named) => {
      const at = stage(() => Promise.reject(new KubeError(code, 'GET /x: no')));
      await expect(at.named.get(lease)).rejects.toThrow('GET /x: no');
      await expect(at.named.get(lease)).rejects.toThrow('GET /x: no');
      expect(at.lines).toEqual(named);
      expect(at.counted).toEqual(
        named.flatMap((name) => [
          `dovetail_kubernetes_failures_total ${name}`,
          `dovetail_kubernetes_failures_total ${name}`,
        ]),
      );
      expect(at.named.answered()).toBe(false);
    },
  );

  test('every call is counted by its name, answered or not', async () => {
    let answers = 0;
    const at = stage(() =>
      (answers += 1) === 1 ? Promise.resolve(undefined) : Promise.reject(new Error('no')),
    );
    await at.named.get(lease);
    await expect(at.named.get(lease)).rejects.toThrow('no');
    expect(at.calls).toEqual([
      'dovetail_kubernetes_calls_total get',
      'dovetail_kubernetes_calls_total get',
    ]);
  });

  test('a cause that lasts is said again after a while, and the first answer is remembered', async () => {
    let down = true;
    const at = stage(() =>
      down ? Promise.reject(new KubeError('unavailable', 'down')) : Promise.resolve(undefined),
    );
    for (const pause of [0, 14_000, 2_000]) {
      await at.clock.sleep(pause);
      await expect(at.named.get(lease)).rejects.toThrow('down');
    }
    expect(at.lines).toEqual(['kubernetes-unreachable', 'kubernetes-unreachable']);
    down = false;
    await at.named.get(lease);
    expect(at.named.answered()).toBe(true);
  });
});

describe("an Event about the service's Lease", () => {
  const telling = (at: ReturnType<typeof stage>, recorded: KubeEvent[]): Log =>
    tellingCauses(at.log, {
      kube: at.kube,
      clock: at.clock,
      stop: new AbortController().signal,
      namespace: 'kube-system',
      lease: 'dovetail-launcher',
      record: (event) => void recorded.push(event),
    });
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const about = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    name: 'dovetail-launcher',
    namespace: 'kube-system',
  };

  test('is recorded for warnings and errors with a cause, once the Lease is there', async () => {
    let looks = 0;
    const recorded: KubeEvent[] = [];
    const at = stage(() =>
      Promise.resolve(
        (looks += 1) < 3 ? undefined : { metadata: { name: 'dovetail-launcher', uid: 'u1' } },
      ),
    );
    const log = telling(at, recorded);
    log.warn('nats-unreachable', 'NATS does not answer');
    log.error('plan-malformed', 'a plan cannot be read');
    log.warn('batch-failed', 'another matter');
    log.info('resource-not-served', 'nothing is missed');
    await turns();
    const type = 'Warning';
    expect(recorded).toEqual([
      {
        about: { ...about, uid: 'u1' },
        type,
        reason: 'NATSUnreachable',
        message: 'NATS does not answer',
      },
      {
        about: { ...about, uid: 'u1' },
        type,
        reason: 'MessageMalformed',
        message: 'a plan cannot be read',
      },
    ]);
    expect(looks).toBe(3);
    expect(at.lines).toEqual(['nats-unreachable', 'plan-malformed', 'batch-failed']);
  });

  test('names the Lease without a UID when a minute did not bring one', async () => {
    const recorded: KubeEvent[] = [];
    const at = stage(() => Promise.reject(new KubeError('denied', 'no')));
    telling(at, recorded).error('nats-denied', 'refused');
    await turns();
    expect(recorded).toEqual([
      { about, type: 'Warning', reason: 'NATSDenied', message: 'refused' },
    ]);
    expect(at.clock.nowMs()).toBe(59_000);
  });
});
