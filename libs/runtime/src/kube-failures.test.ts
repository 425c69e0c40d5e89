import {
  type KubeApi,
  KubeError,
  type KubeErrorCode,
  kubeResources,
  type Log,
} from '@dovetail/core-ports';
import { describe, expect, test } from '@jest/globals';

import { tellingCauses } from './cause-events.js';
import { namedFailures } from './kube-failures.js';

const quiet = (): void => undefined;
const lease = {
  resource: kubeResources.leases,
  namespace: 'kube-system',
  name: 'dovetail-launcher',
};

function stage(
  get: () => Promise<unknown>,
  create: (...args: unknown[]) => Promise<unknown> = () => Promise.resolve({}),
) {
  const lines: string[] = [];
  const counted: string[] = [];
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
    count: (name: string, labels: Readonly<Record<string, string>> = {}) =>
      void counted.push(`${name} ${labels['reason'] ?? ''}`),
    set: quiet,
    observe: quiet,
  };
  const kube = { get, create } as unknown as KubeApi;
  return {
    lines,
    counted,
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
  const telling = (at: ReturnType<typeof stage>, stop = new AbortController()): Log =>
    tellingCauses(at.log, {
      kube: at.kube,
      clock: at.clock,
      stop: stop.signal,
      namespace: 'kube-system',
      lease: 'dovetail-launcher',
      service: 'launcher',
    });

  test('is written once for a cause that is repeated, when the Lease is there', async () => {
    let looks = 0;
    const written: { reason: string; involvedObject: unknown }[] = [];
    const at = stage(
      () =>
        Promise.resolve(
          (looks += 1) < 3 ? undefined : { metadata: { name: 'dovetail-launcher', uid: 'u1' } },
        ),
      (_resource, event) => {
        written.push(event as (typeof written)[number]);
        return Promise.resolve({});
      },
    );
    const log = telling(at);
    log.warn('nats-unreachable', 'NATS does not answer');
    log.warn('nats-unreachable', 'NATS does not answer');
    log.warn('batch-failed', 'another matter');
    log.info('resource-not-served', 'nothing is missed');
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toMatchObject([
      {
        type: 'Warning',
        reason: 'NATSUnreachable',
        message: 'NATS does not answer',
        involvedObject: {
          kind: 'Lease',
          name: 'dovetail-launcher',
          namespace: 'kube-system',
          uid: 'u1',
        },
      },
    ]);
    expect(at.lines).toEqual(['nats-unreachable', 'nats-unreachable', 'batch-failed']);
  });

  test('that cannot be written for a minute is left out, and said', async () => {
    const at = stage(() => Promise.reject(new KubeError('denied', 'no')));
    telling(at).error('nats-denied', 'refused');
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(at.lines).toEqual(['nats-denied', 'event-not-written']);
    expect(at.clock.nowMs()).toBe(59_000);
  });
});
