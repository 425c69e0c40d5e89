/**
 * The surroundings of a service in one process: a bus, an API server, and records of its log and
 * metrics.
 */
import { createHash } from 'node:crypto';

import { type Channel, streamSpecs } from '@dovetail/contracts';
import type { Log, LogFields } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { createKubeStore, createManualClock, inProcessKube } from '@dovetail/sim-kube';

export const cluster = 'lab';
export const startMs = Date.UTC(2026, 10, 22);

export type Line = {
  readonly level: string;
  readonly name: string;
  readonly message: string;
  readonly fields: LogFields;
};

const sha256 = {
  sha256Hex: (text: string): string => createHash('sha256').update(text).digest('hex'),
};

/** A log that keeps its lines. */
export function recordingLog(): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: string): Log['info'] =>
    (name, message, fields = {}) =>
      void lines.push({ level, name, message, fields });
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { log, lines };
}

/** Metrics that add up counters by name. */
export function countingMetrics() {
  const counts = new Map<string, number>();
  const count = (name: string, _labels: Readonly<Record<string, string>> = {}, by = 1): void =>
    void counts.set(name, (counts.get(name) ?? 0) + by);
  return {
    metrics: { count, set: () => undefined, remove: () => undefined, observe: () => undefined },
    counts,
  };
}

/** Runs everything that can go on without time passing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1)
    await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** A whole outside under one clock that the test moves. */
export function outside() {
  const clock = createManualClock(startMs);
  const kube = inProcessKube(createKubeStore({ clock, seed: 1 }));
  const server = new MemoryBusServer(clock);
  const bus = memoryBus(server);
  const channel: Channel = { bus, cluster, source: 'test', clock, hash: sha256 };
  /** Time passes in steps; whatever a step starts settles before the next. */
  const advance = async (durationMs: number, stepMs = 5): Promise<void> => {
    await settle();
    for (let leftMs = durationMs; leftMs > 0; leftMs -= stepMs) {
      clock.advance(Math.min(stepMs, leftMs));
      await settle();
    }
  };
  return {
    clock,
    kube,
    bus,
    server,
    channel,
    hash: sha256,
    advance,
    ensureStreams: () => bus.ensureStreams(streamSpecs(cluster)),
    ...recordingLog(),
    ...countingMetrics(),
  };
}

/** The same port with some methods of the test's own. */
export const overriding = <T extends object>(port: T, changes: Partial<T>): T =>
  new Proxy(port, {
    get: (target, name) => {
      if (name in changes) return changes[name as keyof T];
      const value = target[name as keyof T];
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
