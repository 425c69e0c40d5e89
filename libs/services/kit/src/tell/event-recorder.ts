import {
  eventName,
  eventNamespace,
  type KubeEvent,
  kubeEventObject,
} from '@dovetail/core-kube-model';
import {
  type Clock,
  type Hash,
  type KubeCreates,
  KubeError,
  type KubePatches,
  kubeResources,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
} from '@dovetail/core-ports';

import { inParallel } from '../work/in-parallel.js';
import { Wake } from '../work/wake.js';

/** The means to write Events and to name them by a hash of their content. */
export type EventRecorderDeps = {
  readonly kube: KubeCreates & KubePatches;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hash: Hash;
};

/** An Event with the same subject, reason and message is not written again sooner (Karpenter's). */
const repeatMs = 120_000;
/** The number of recent Events to remember for this. Beyond it, the oldest are forgotten first. */
const rememberedMax = 20_000;
/**
 * Events that may wait for the API server: at eight writes side by side, about a minute of them.
 */
const waitingMax = 5_000;
/** Writes side by side. One at a time would take minutes for a scale-up of a thousand pods. */
const writesMax = 8;
/** Events taken at a time, two seconds' worth or so: a new warning waits for no more than these. */
const batchMax = 128;
/** Digits of the content's hash in an Event's name; 64 bits do not collide by accident. */
const suffixLength = 16;

/** When an Event counts as a repeat, where the rule for all Events does not fit. */
export type EventRepeat = {
  /** A repeat is not written sooner. Absent: after two minutes. */
  readonly afterMs?: number;
  /** Events of one subject and reason with this text are repeats. Absent: the message decides. */
  readonly sameAs?: string;
};

type Waiting = { readonly event: KubeEvent; readonly key: string; readonly count: number };
type Told = { readonly atMs: number; readonly count: number };

/**
 * Records Kubernetes Events behind the work. Nothing waits for an Event, and nothing fails with it.
 *
 * An Event that repeats after a while raises its count. Warnings are written before others. When
 * too many wait, the oldest are dropped, warnings last, and counted in
 * `dovetail_events_dropped_total`. An Event that the API server refuses is logged as
 * `event-not-written`.
 *
 * Invariant: at most `waitingMax` Events wait, and `rememberedMax` are remembered.
 */
export class EventRecorder {
  readonly #deps: EventRecorderDeps;
  readonly #component: string;
  readonly #wake: Wake;
  /** By content, in the order of their last recording. */
  readonly #told = new Map<string, Told>();
  #warnings: Waiting[] = [];
  #others: Waiting[] = [];

  /** `service` is the service's short name: Events come from `dovetail-<service>`. */
  constructor(deps: EventRecorderDeps, service: string) {
    this.#deps = deps;
    this.#component = `dovetail-${service}`;
    this.#wake = new Wake(deps.clock);
  }

  /** Records an Event, unless it repeats one that was recorded within two minutes. */
  record(event: KubeEvent, { afterMs = repeatMs, sameAs }: EventRepeat = {}): void {
    const subject = `${event.about.uid ?? event.about.name}/${event.reason}/`;
    const key = `${subject}${event.message}`;
    const quietKey = sameAs === undefined ? key : `${subject}=${sameAs}`;
    const nowMs = this.#deps.clock.nowMs();
    const quiet = this.#told.get(quietKey);
    if (quiet !== undefined && nowMs - quiet.atMs < afterMs) return;
    const count = (this.#told.get(key)?.count ?? 0) + 1;
    this.#remember(quietKey, { atMs: nowMs, count });
    this.#remember(key, { atMs: nowMs, count });
    (event.type === 'Warning' ? this.#warnings : this.#others).push({ event, key, count });
    if (this.waiting() > waitingMax) {
      (this.#others.length > 0 ? this.#others : this.#warnings).shift();
      this.#deps.metrics.count('dovetail_events_dropped_total');
    }
    this.#wake.raise();
  }

  /** Events that wait to be written. */
  waiting(): number {
    return this.#warnings.length + this.#others.length;
  }

  /** Writes the recorded Events, until stopped. */
  async run(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      const batch = this.#warnings.splice(0, batchMax);
      batch.push(...this.#others.splice(0, batchMax - batch.length));
      await inParallel(batch, writesMax, (waiting) =>
        stop.aborted ? Promise.resolve() : this.#write(waiting),
      );
      if (this.waiting() === 0) await this.#wake.wait(stop);
    }
  }

  #remember(key: string, told: Told): void {
    this.#told.delete(key);
    this.#told.set(key, told);
    if (this.#told.size <= rememberedMax) return;
    for (const oldest of this.#told.keys()) {
      this.#told.delete(oldest);
      return;
    }
  }

  async #write({ event, key, count }: Waiting): Promise<void> {
    const { kube, hash, clock, log } = this.#deps;
    // The name follows from the content, so a repeat meets the first Event and raises its count.
    const name = eventName(event.about, hash.sha256Hex(key).slice(0, suffixLength));
    const object = kubeEventObject(event, {
      name,
      component: this.#component,
      atMs: clock.nowMs(),
      count,
    });
    try {
      await kube.create(kubeResources.events, object).catch((error: unknown) => {
        if (!(error instanceof KubeError) || error.code !== 'already-exists') throw error;
        return this.#raise(event, name, { lastTimestamp: object.lastTimestamp, count });
      });
    } catch (error) {
      const { reason, about } = event;
      log.debug('event-not-written', `the Event ${reason} was not written: ${messageOf(error)}`, {
        reason,
        about: about.name,
      });
    }
  }

  /**
   * Raises the count of an Event that exists. The count starts with this process, because Events
   * are not read back: that takes one right less. An existing Event has happened at least twice.
   */
  #raise(
    { about }: KubeEvent,
    name: string,
    now: { readonly lastTimestamp: string; readonly count: number },
  ): Promise<unknown> {
    return this.#deps.kube.patch(
      { resource: kubeResources.events, namespace: eventNamespace(about), name },
      { type: 'merge', body: { ...now, count: Math.max(now.count, 2) } },
    );
  }
}
