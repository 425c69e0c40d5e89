import { setTimeout as sleep } from 'node:timers/promises';
import { TestbedError, messageOf } from './errors.js';

/** How long and how often to look, and what is awaited (it completes the sentence "waited 5000 ms for ..."). */
export type WaitLimits = { readonly what: string; readonly deadlineMs: number; readonly everyMs?: number };

type Falsy = undefined | null | false;

/**
 * Looks again and again until the condition gives something other than undefined, null or false, and returns that.
 * A condition that throws counts as "not yet"; a `TestbedError` ends the wait at once, because it says that waiting is
 * useless (the process has ended, for one). This is the testbed's only polling loop.
 */
export async function waitFor<T>(condition: () => T | Falsy | Promise<T | Falsy>, limits: WaitLimits): Promise<T> {
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

/** One look, given up when the time is over: a condition that hangs must not outlive the deadline. */
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
  const failed = `waited ${limits.deadlineMs} ms for ${limits.what}, in vain`;
  const remedy = 'look into the log of the part concerned; on a busy machine allow more time';
  if (lastFailure === undefined) return new TestbedError({ failed, remedy });
  return new TestbedError({ failed, remedy, lastLines: messageOf(lastFailure) }, { cause: lastFailure });
}
