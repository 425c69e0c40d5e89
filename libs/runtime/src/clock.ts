import { createHash } from 'node:crypto';
import { readFileSync, watchFile } from 'node:fs';

import type { Clock, Hash, StopSignal } from '@dovetail/core-ports';

/** The machine's clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (durationMs, stop) => sleepFor(durationMs, stop),
};

function sleepFor(durationMs: number, stop: StopSignal): Promise<void> {
  if (stop.aborted || durationMs <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, durationMs);
    stop.addEventListener('abort', done, { once: true });
  });
}

/**
 * A clock for tests and the lab: the machine's clock plus the milliseconds in a file. Hours pass in
 * seconds for every process that reads the same file. A sleeper wakes once a jump has passed its
 * time.
 */
export function offsetClock(
  file: string,
  onJump: (offsetMs: number) => void = () => undefined,
): Clock {
  let offsetMs = readOffset(file);
  const sleepers = new Set<() => void>();
  watchFile(file, { interval: 100, persistent: false }, () => {
    const next = readOffset(file);
    if (next === offsetMs) return;
    offsetMs = next;
    onJump(next);
    for (const wake of [...sleepers]) wake();
  });
  const nowMs = (): number => Date.now() + offsetMs;
  return {
    nowMs,
    sleep: (durationMs, stop) => sleepUntil(nowMs() + durationMs, stop, nowMs, sleepers),
  };
}

function sleepUntil(
  untilMs: number,
  stop: StopSignal,
  nowMs: () => number,
  sleepers: Set<() => void>,
): Promise<void> {
  if (stop.aborted || untilMs <= nowMs()) return Promise.resolve();
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      sleepers.delete(look);
      stop.removeEventListener('abort', end);
      resolve();
    };
    const look = (): void => {
      clearTimeout(timer);
      const leftMs = untilMs - nowMs();
      if (leftMs <= 0) end();
      else timer = setTimeout(look, leftMs);
    };
    sleepers.add(look);
    stop.addEventListener('abort', end, { once: true });
    look();
  });
}

function readOffset(file: string): number {
  try {
    const value = Number(readFileSync(file, 'utf8').trim());
    return Number.isFinite(value) ? value : 0;
  } catch {
    return 0;
  }
}

/** SHA-256 by Node's crypto module. */
export const systemHash: Hash = {
  sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
};
