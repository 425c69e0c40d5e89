import { setTimeout as sleep } from 'node:timers/promises';

import { messageOf } from '@dovetail/core-ports';

import { TestbedError } from './errors.js';

/** The deadline and interval of a wait. `what` completes the sentence "waited 5000 ms for ...". */
export type WaitLimits = {
  readonly what: string;
  readonly deadlineMs: number;
  readonly everyMs?: number;
};

type Falsy = undefined | null | false;

/**
 * Polls until the condition gives something other than undefined, null or false, and returns that.
 * A condition that throws counts as "not yet". A `TestbedError` ends the wait at once, because
 * waiting is useless then (the process has ended, for example). This is the testbed's only polling
 * loop.
 */
export async function waitFor<T>(
  condition: () => T | Falsy | Promise<T | Falsy>,
  limits: WaitLimits,
): Promise<T> {
  const endsAtMs = performance.now() + limits.deadlineMs;
  let lastFailure: unknown;
  for (;;) {
    try {
      const found = await within(condition, endsAtMs - performance.now());
      if (found !== undefined && found !== null && found !== false) return found;
    } catch (thrown) {
      if (thrown instanceof TestbedError) throw thrown;
      lastFailure = thrown;
    }
    const leftMs = endsAtMs - performance.now();
    if (leftMs <= 0) throw tooLate(limits, lastFailure);
    await sleep(Math.min(limits.everyMs ?? 50, leftMs));
  }
}

/** One look, abandoned at the deadline, so that a condition that hangs cannot outlive it. */
async function within<T>(condition: () => T | Promise<T>, leftMs: number): Promise<T | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([
      Promise.resolve().then(condition),
      sleep(Math.max(leftMs, 0), undefined, { signal: over.signal }),
    ]);
  } finally {
    over.abort();
  }
}

function tooLate(limits: WaitLimits, lastFailure: unknown): TestbedError {
  const failed = `waited ${limits.deadlineMs} ms in vain for ${limits.what}`;
  const remedy = 'look into the log of the part concerned; on a busy machine allow more time';
  if (lastFailure === undefined) return new TestbedError({ failed, remedy });
  return new TestbedError(
    { failed, remedy, lastLines: messageOf(lastFailure) },
    { cause: lastFailure },
  );
}
