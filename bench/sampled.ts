import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { RunningPart } from '@dovetail/testbed';

/** The use of one service or twin in one phase. Twins have no metrics: memory and CPU time show. */
export type Use = {
  readonly rssMb: number;
  /** The longest time that the event loop was blocked. */
  readonly blockMs?: number;
  /** The longest time that the service's own work held it: a block without waits for a CPU. */
  readonly heldMs?: number;
  /** CPU time of all its threads. */
  readonly cpuSeconds?: number;
  /** How long the main thread was ready to run and had no CPU. Linux only. */
  readonly waitedSeconds?: number;
  /** Calls to the Kubernetes API in the busiest second, and in all. */
  readonly callsPerSecondMost?: number;
  readonly calls?: number;
};

/** Reads every service's metrics each second, and every part's memory. */
export type Sampler = {
  /** The use since the last call, by part. */
  take(): Readonly<Record<string, Use>>;
  stop(): Promise<void>;
};

type Metered = {
  rssMb: number;
  blockMs?: number;
  heldMs?: number;
  cpu?: { first: number; last: number };
  waited?: { first: number; last: number };
  calls?: { first: number; last: number; mostPerSecond: number; atMs: number };
};

const sum = (text: string, name: string): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);

/** Where /proc is missing, memory is only read from metrics. */
const rssOf = async (pid: number): Promise<number> =>
  readFile(`/proc/${pid}/status`, 'utf8').then(
    (text) => Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024,
    () => 0,
  );

const waitedOf = async (pid: number): Promise<number> =>
  readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').then(
    (text) => Number(text.split(' ')[1] ?? 0) / 1e9,
    () => 0,
  );

/** Linux counts CPU time in hundredths of a second, whatever its clock. */
const ticksPerSecond = 100;

/** CPU seconds of all threads; undefined where /proc is missing. */
const cpuOf = async (pid: number): Promise<number | undefined> =>
  readFile(`/proc/${pid}/stat`, 'utf8').then(
    (text) => {
      // The name of the program, in brackets, may have spaces. User and system time are 14 and 15.
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
    },
    () => undefined,
  );

function meter(into: Metered, text: string): void {
  const megabyte = 1024 * 1024;
  into.rssMb = Math.max(into.rssMb, sum(text, 'process_resident_memory_bytes') / megabyte);
  // Both gauges begin anew at each scrape.
  const block = sum(text, 'nodejs_eventloop_lag_max_seconds') * 1_000;
  into.blockMs = Math.max(into.blockMs ?? 0, block);
  const held = sum(text, 'dovetail_event_loop_held_max_seconds') * 1_000;
  into.heldMs = Math.max(into.heldMs ?? 0, held);
  const calls = sum(text, 'dovetail_kubernetes_calls_total');
  const atMs = performance.now();
  const before = into.calls ?? { first: calls, last: calls, mostPerSecond: 0, atMs: atMs - 1_000 };
  const perSecond = (calls - before.last) / Math.max(1, (atMs - before.atMs) / 1_000);
  const mostPerSecond = Math.max(before.mostPerSecond, perSecond);
  into.calls = { first: before.first, last: calls, mostPerSecond, atMs };
}

const useOf = ({ rssMb, blockMs, heldMs, cpu, waited, calls }: Metered): Use => ({
  rssMb: Math.round(rssMb),
  ...(blockMs === undefined ? {} : { blockMs: Math.round(blockMs) }),
  ...(heldMs === undefined ? {} : { heldMs: Math.round(heldMs) }),
  ...(cpu === undefined ? {} : { cpuSeconds: Math.round(10 * (cpu.last - cpu.first)) / 10 }),
  ...(waited === undefined
    ? {}
    : { waitedSeconds: Math.round(10 * (waited.last - waited.first)) / 10 }),
  ...(calls === undefined
    ? {}
    : { callsPerSecondMost: Math.round(calls.mostPerSecond), calls: calls.last - calls.first }),
});

/** Counters go on from phase to phase; memory and blocks begin anew. */
const nextPhase = ({ cpu, waited, calls }: Metered): Metered => ({
  rssMb: 0,
  ...(cpu === undefined ? {} : { cpu: { first: cpu.last, last: cpu.last } }),
  ...(waited === undefined ? {} : { waited: { first: waited.last, last: waited.last } }),
  ...(calls === undefined ? {} : { calls: { ...calls, first: calls.last, mostPerSecond: 0 } }),
});

/** A process to sample. */
type Sampled = Pick<RunningPart, 'pid'> & { readonly httpUrl?: string };

/** The metrics of a service; undefined for a twin, and for one that does not answer. */
const metricsOf = async ({ httpUrl }: Sampled): Promise<string | undefined> =>
  httpUrl === undefined
    ? undefined
    : fetch(`${httpUrl}/metrics`, { signal: AbortSignal.timeout(30_000) }).then(
        (answer) => answer.text(),
        () => undefined,
      );

/** Samples the parts of a lab and this process until it is stopped. */
export function sample(parts: ReadonlyMap<string, Sampled>): Sampler {
  const stop = new AbortController();
  const metered = new Map<string, Metered>();
  const once = async (name: string, part: Sampled): Promise<void> => {
    const rssMb = await rssOf(part.pid);
    const cpu = await cpuOf(part.pid);
    const text = await metricsOf(part);
    const into = metered.get(name) ?? { rssMb: 0 };
    metered.set(name, into);
    into.rssMb = Math.max(into.rssMb, rssMb);
    if (cpu !== undefined) into.cpu = { first: into.cpu?.first ?? cpu, last: cpu };
    const waited = await waitedOf(part.pid);
    into.waited = { first: into.waited?.first ?? waited, last: waited };
    if (text !== undefined) meter(into, text);
  };
  const follow = async (name: string, part: Sampled): Promise<void> => {
    while (!stop.signal.aborted) {
      await once(name, part);
      await delay(1_000, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const following = [...parts, ['benchmark', { pid: process.pid }] as const].map(([name, part]) =>
    follow(name, part),
  );
  return {
    take() {
      const taken = Object.fromEntries([...metered].map(([name, of]) => [name, useOf(of)]));
      for (const [name, of] of metered) metered.set(name, nextPhase(of));
      return taken;
    },
    async stop() {
      stop.abort();
      await Promise.all(following);
    },
  };
}
