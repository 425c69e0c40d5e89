import {
  KubeError,
  type KubeObject,
  type KubeResource,
  kubeResources,
  Stopper,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { describe, expect, test } from 'vitest';

import { countingMetrics, recordingLog } from '../testing/outside.js';
import { watchServed } from './watch-served.js';

/** The API server's answer at each turn: it lacks the resource, fails, or gives these events. */
type Turn = 'absent' | 'broken' | readonly WatchEvent<string>[];

function stage(turns: readonly Turn[], optional: boolean) {
  const clock = virtualClock(0);
  const stop = new Stopper();
  const { log, lines } = recordingLog();
  const { metrics, counts } = countingMetrics();
  const seen: string[] = [];
  let turn = 0;
  const now = (): Turn => turns[Math.min(turn, turns.length - 1)] ?? 'absent';
  async function* watch<T>(_options: unknown, _stop: StopSignal): AsyncGenerator<WatchEvent<T>> {
    const events = now();
    turn += 1;
    await Promise.resolve();
    if (typeof events === 'string') throw new KubeError('unavailable', 'connection refused');
    for (const event of events) yield event as WatchEvent<T>;
  }
  const serves = (): Promise<boolean> => {
    if (now() !== 'absent') return Promise.resolve(true);
    turn += 1;
    return Promise.resolve(false);
  };
  const running = watchServed(
    { kube: { watch, serves }, clock, log, metrics },
    { resource: kubeResources.provisioners, project: (object) => object.metadata.name, optional },
    {
      event: (event) => seen.push(event.kind === 'set' ? event.value : event.kind),
      absent: () => seen.push('absent'),
    },
    stop,
  );
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, seen, lines, counts, end };
}

const set: WatchEvent<string> = { kind: 'set', value: 'a' };
const synced: WatchEvent<string> = { kind: 'synced' };
const cases: readonly (readonly [
  string,
  readonly Turn[],
  { readonly optional: boolean },
  readonly string[],
])[] = [
  ['passes events on', [[set, synced], []], { optional: false }, ['a', 'synced']],
  ['waits for a resource', ['absent', 'absent', [set], []], { optional: false }, ['a']],
  [
    'calls a missing optional one absent',
    ['absent', [set], []],
    { optional: true },
    ['absent', 'a'],
  ],
  ['begins again after a failure', ['broken', [set], []], { optional: false }, ['a']],
  [
    'notices a removal',
    [[set], 'absent', [synced], []],
    { optional: true },
    ['a', 'absent', 'synced'],
  ],
];

describe('a watch of a resource that may not be served', () => {
  test.each(cases)('%s', async (_what, turns, { optional }, expected) => {
    const { clock, seen, end } = stage(turns, optional);
    await clock.advance(6_500);
    expect(seen).toEqual(expected);
    await end();
  });

  test('reports a missing resource once, and again when it went missing again', async () => {
    const { clock, lines, counts, end } = stage(['absent', 'absent', [set], 'absent'], false);
    await clock.advance(20_000);
    expect(lines.map(({ level, name }) => `${level} ${name}`)).toEqual([
      'error resource-not-served',
      'error resource-not-served',
    ]);
    expect(counts.get('dovetail_resource_not_served_total')).toBe(2);
    await end();
  });

  test('says at info level that there are none of an optional one, and counts no fault', async () => {
    const { clock, lines, counts, end } = stage(['absent'], true);
    await clock.advance(20_000);
    expect(lines.map(({ level, name }) => `${level} ${name}`)).toEqual([
      'info resource-not-served',
    ]);
    expect([...counts]).toEqual([]);
    await end();
  });

  test('counts and names each failure', async () => {
    const { clock, lines, counts, end } = stage(['broken', 'broken', []], false);
    await clock.advance(10_000);
    expect(lines.map(({ name, message }) => [name, message])).toEqual(
      Array.from({ length: 2 }, () => [
        'watch-failed',
        'watching provisioners failed: connection refused; trying again',
      ]),
    );
    expect(counts.get('dovetail_watch_errors_total')).toBe(2);
    await end();
  });
});

/** Sets an object with this class, and answers the changes that the watch shows. */
async function seenOf(resource: KubeResource, nodeClassRef: object): Promise<readonly string[]> {
  const [stop, seen] = [new Stopper(), [] as string[]];
  const object: KubeObject = { metadata: { name: 'one', uid: 'u-1' }, spec: { nodeClassRef } };
  const kube = {
    serves: () => Promise.resolve(true),
    async *watch<T>({ project }: { readonly project: (object: KubeObject) => T }) {
      await Promise.resolve();
      yield { kind: 'set' as const, value: project(object) };
      stop.abort();
    },
  };
  const { log } = recordingLog();
  const { metrics } = countingMetrics();
  await watchServed(
    { kube, clock: virtualClock(0), log, metrics },
    { resource, project: ({ metadata }) => `read ${metadata.name}`, optional: false },
    {
      event: (event) =>
        seen.push(event.kind === 'set' ? event.value : `${event.kind} ${JSON.stringify(event)}`),
      absent: () => undefined,
    },
    stop,
  );
  return seen;
}

describe('a NodeClaim', () => {
  test('of our class is read', async () =>
    expect(
      await seenOf(kubeResources.nodeClaims, { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' }),
    ).toEqual(['read one']));

  test('of another provider is not read, and counts as gone', async () =>
    expect(
      await seenOf(kubeResources.nodeClaims, { group: 'eks.amazonaws.com', kind: 'NodeClass' }),
    ).toEqual([expect.stringMatching(/^gone .*"uid":"u-1"/)]));
});
