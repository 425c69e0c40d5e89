import { openSync, readSync } from 'node:fs';

/** The main thread at one moment, in milliseconds since some moment in the past. */
export type ThreadTime = {
  /** Monotonic time. */
  readonly wallMs: number;
  /** CPU time that the main thread has used. */
  readonly cpuMs: number;
};

/** Looks at the event loop this often. Twenty looks fit into the longest block that is allowed. */
const everyMs = 10;

/**
 * The longest time that one turn of the event loop was held by its own work. A process that waits
 * for a CPU also stands still, but such a wait uses no CPU time and does not count.
 */
export class HeldLoop {
  #last: ThreadTime;
  #heldMs = 0;

  constructor(first: ThreadTime) {
    this.#last = first;
  }

  /** A look at the loop. It was due `everyMs` after the look before; each delay is a block. */
  look(now: ThreadTime): void {
    const lateMs = now.wallMs - this.#last.wallMs - everyMs;
    const usedMs = now.cpuMs - this.#last.cpuMs;
    this.#heldMs = Math.max(this.#heldMs, Math.min(lateMs, usedMs));
    this.#last = now;
  }

  /** The longest hold since the last call, in milliseconds. */
  take(): number {
    const heldMs = this.#heldMs;
    this.#heldMs = 0;
    return heldMs;
  }
}

/**
 * Looks at the event loop of this process until it ends. The function answers the longest hold
 * since its last call, in milliseconds.
 */
export function watchHeldLoop(): () => number {
  const cpuMs = threadCpuMs();
  const now = (): ThreadTime => ({ wallMs: performance.now(), cpuMs: cpuMs() });
  const loop = new HeldLoop(now());
  setInterval(() => loop.look(now()), everyMs).unref();
  return () => {
    // The longest hold may be the turn that this call is in.
    loop.look(now());
    return loop.take();
  };
}

/**
 * Reads the CPU time of the main thread in milliseconds. Linux has it in the first number of
 * `schedstat`, in nanoseconds. Elsewhere it is that of all threads, so holds may show too long.
 */
function threadCpuMs(): () => number {
  try {
    const file = openSync('/proc/self/schedstat', 'r');
    const bytes = Buffer.alloc(128);
    return () =>
      Number.parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, 128, 0)), 10) / 1e6;
  } catch {
    return () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    };
  }
}
