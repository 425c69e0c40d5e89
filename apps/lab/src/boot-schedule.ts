import type { Clock } from '@dovetail/core-ports';
import type { BootedInstance, NodeAgent } from '@dovetail/sim-kube';

/**
 * Lets the machines of a burst join one after the other, `everyMs` apart, because real ones never
 * come up all at once. With 0, each joins as soon as it has booted.
 */
export class BootSchedule {
  readonly #agent: Pick<NodeAgent, 'boot' | 'halt'>;
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #waiting = new Map<string, AbortController>();
  /** The earliest time at which the next machine may join. */
  #nextMs = 0;

  constructor(agent: Pick<NodeAgent, 'boot' | 'halt'>, clock: Clock, everyMs: number) {
    this.#agent = agent;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Boots the machine in its turn. Resolves then, or if it is halted before. */
  async boot(instance: BootedInstance): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const waitMs = Math.max(0, this.#nextMs - nowMs);
    this.#nextMs = nowMs + waitMs + this.#everyMs;
    const halted = new AbortController();
    this.#waiting.set(instance.nodeName, halted);
    if (waitMs > 0) await this.#clock.sleep(waitMs, halted.signal);
    this.#waiting.delete(instance.nodeName);
    if (!halted.signal.aborted) this.#agent.boot(instance);
  }

  /** The machine is gone. If it has not joined yet, it never will. */
  halt(nodeName: string): void {
    this.#waiting.get(nodeName)?.abort();
    this.#agent.halt(nodeName);
  }
}
