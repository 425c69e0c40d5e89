import type { Clock, StopSignal, WorkItem } from '@dovetail/core-ports';

/** A batch waits this long for further decisions: they come in bursts, and readers see no delay. */
const gatherMs = 100;

/** Takes the messages of a consumer in batches. It keeps those that it holds in sight. */
export class Intake {
  readonly #items: AsyncIterator<WorkItem>;
  readonly #clock: Clock;
  /** Delivered by the bus, and not settled. */
  readonly #inHand = new Set<WorkItem>();
  #next: Promise<WorkItem | undefined> | undefined;

  constructor(items: AsyncIterable<WorkItem>, clock: Clock) {
    this.#items = items[Symbol.asyncIterator]();
    this.#clock = clock;
  }

  /** All that the bus must not deliver again now. It is read anew each time. */
  get inHand(): ReadonlySet<WorkItem> {
    return this.#inHand;
  }

  /** The next messages, at least one. Empty: stopped. */
  async batch(most: number, stop: StopSignal): Promise<readonly WorkItem[]> {
    const first = await this.#take();
    if (first === undefined) return [];
    const taken = [first];
    if (most === 1) return taken;
    const late = this.#clock.sleep(gatherMs, stop).then(() => 'late' as const);
    while (taken.length < most) {
      this.#next ??= this.#pull();
      const next = await Promise.race([this.#next, late]);
      if (next === 'late' || next === undefined) break;
      this.#next = undefined;
      taken.push(next);
    }
    return taken;
  }

  /** The message has been settled, or is left for another delivery. */
  settled(item: WorkItem): void {
    this.#inHand.delete(item);
  }

  async #take(): Promise<WorkItem | undefined> {
    const next = this.#next ?? this.#pull();
    this.#next = undefined;
    return await next;
  }

  async #pull(): Promise<WorkItem | undefined> {
    const pulled = await this.#items.next();
    if (pulled.done === true) return undefined;
    this.#inHand.add(pulled.value);
    return pulled.value;
  }
}
