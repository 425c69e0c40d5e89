import { setMaxListeners } from 'node:events';

import {
  type Clock,
  type Epoch,
  type KubeCreates,
  KubeError,
  type KubeReads,
  type KubeReplaces,
  kubeResources,
  type Leadership,
  LeadershipLost,
  type Log,
  type ObjectRef,
  type StopSignal,
} from '@dovetail/core-ports';

import { type Lease, leaseObject } from './lease-object.js';

/** The Lease to hold, its holder, and how long it lasts. Times are in milliseconds. */
export type LeaseOptions = {
  readonly kube: KubeReads & KubeCreates & KubeReplaces;
  readonly log: Log;
  /** The machine's own clock, for waiting and for the times that are written. */
  readonly clock: Clock;
  /**
   * A time in milliseconds that no one sets. Ages are measured by it alone, so that a step of the
   * clock neither prolongs nor ends an epoch. Absent: the clock's, for tests under a virtual one.
   */
  readonly monotonicMs?: () => number;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process: a restart is a new holder. */
  readonly identity: string;
  /** How long a silent holder keeps the lease; renewed three times within it. */
  readonly durationMs: number;
  /** Called after each epoch, when the work of the epoch has ended. */
  readonly onEnded?: () => void;
};

const epochAnnotation = 'dovetail.sh/epoch';
const roundAnnotation = 'dovetail.sh/round';

/** Leadership by a lease that lasts for a time. */
export type LeaseLeadership = Leadership & {
  /**
   * Whether the lease still keeps other replicas away, by its own time. As `held`, but true as well
   * while an epoch ends in good order, so that work in hand can be finished.
   */
  keepsOthersAway(): boolean;
};

/**
 * Leadership by a Lease of coordination.k8s.io. The lease does not fence by itself: an effect that
 * must not happen twice goes through `guardedWrite` first.
 */
export function leaseLeadership(options: LeaseOptions): LeaseLeadership {
  const state: LeaseState = { epoch: undefined };
  return {
    held: () => state.epoch?.isHeld() === true,
    keepsOthersAway: () => state.epoch?.keepsOthersAway() === true,
    epoch: () =>
      state.epoch !== undefined && !state.epoch.abort.signal.aborted ? state.epoch.number : 0,
    async run(stop, onLead) {
      let seen: Observation | undefined;
      while (!stop.aborted) {
        const attempt = await tryAcquire(options, seen).catch((error: unknown) => {
          options.log.warn(
            'lease-unreachable',
            `the lease ${options.name} cannot be read or written: ${String(error)}; trying again`,
          );
          return { kind: 'waiting' as const, seen };
        });
        if (attempt.kind === 'waiting') {
          seen = attempt.seen;
          await options.clock.sleep(options.durationMs / 4, stop);
          continue;
        }
        state.epoch = attempt.epoch;
        options.log.info('leading', `leads as ${options.identity}, epoch ${attempt.epoch.number}`, {
          epoch: attempt.epoch.number,
        });
        await attempt.epoch.serve(stop, onLead).finally(() => {
          state.epoch = undefined;
          options.onEnded?.();
        });
        options.log.info('leading-ended', `no longer leads, epoch ${attempt.epoch.number}`, {
          epoch: attempt.epoch.number,
        });
      }
    },
  };
}

type LeaseState = { epoch: HeldEpoch | undefined };
type Observation = { readonly resourceVersion: string; readonly sinceMs: number };
const elapsedMs = ({ monotonicMs, clock }: LeaseOptions): number =>
  monotonicMs === undefined ? clock.nowMs() : monotonicMs();

const refOf = (options: LeaseOptions): ObjectRef => ({
  resource: kubeResources.leases,
  namespace: options.namespace,
  name: options.name,
});

async function tryAcquire(
  options: LeaseOptions,
  seen: Observation | undefined,
): Promise<
  { kind: 'held'; epoch: HeldEpoch } | { kind: 'waiting'; seen: Observation | undefined }
> {
  const lease = (await options.kube.get(refOf(options))) as Lease | undefined;
  const nowMs = elapsedMs(options);
  if (lease !== undefined && (lease.spec?.holderIdentity ?? '') !== '') {
    const version = lease.metadata.resourceVersion ?? '';
    const observation =
      seen?.resourceVersion === version ? seen : { resourceVersion: version, sinceMs: nowMs };
    const patienceMs = Math.max(
      options.durationMs,
      (lease.spec?.leaseDurationSeconds ?? 0) * 1_000,
    );
    if (nowMs - observation.sinceMs < patienceMs) return { kind: 'waiting', seen: observation };
  }
  try {
    return { kind: 'held', epoch: await take(options, lease) };
  } catch (error) {
    if (
      error instanceof KubeError &&
      (error.code === 'conflict' || error.code === 'already-exists')
    )
      return { kind: 'waiting', seen: undefined };
    throw error;
  }
}

async function take(options: LeaseOptions, lease: Lease | undefined): Promise<HeldEpoch> {
  const before = lease?.metadata.annotations ?? {};
  // Epochs start at seconds since 1970 at least, so that a deleted Lease does not restart them at
  // 1. If a clock was ahead before it was deleted, `outrun` makes up for that.
  const epoch = Math.max(
    epochIn(before[epochAnnotation]) + 1,
    Math.floor(options.clock.nowMs() / 1_000),
  );
  const takenMs = elapsedMs(options);
  const wanted = leaseObject(
    options,
    { ...before, [epochAnnotation]: String(epoch) },
    (lease?.spec?.leaseTransitions ?? 0) + 1,
    lease?.metadata.resourceVersion,
  );
  const written =
    lease === undefined
      ? await options.kube.create(kubeResources.leases, wanted)
      : await options.kube.replace(kubeResources.leases, wanted);
  return new HeldEpoch(options, written, epoch, takenMs, before[roundAnnotation] ?? '');
}

/** The number of an annotation; 0 if someone wrote what is none. */
const epochIn = (text: string | undefined): number => {
  const number = Number(text ?? 0);
  return Number.isSafeInteger(number + 1) && number > 0 ? number : 0;
};

/**
 * A lease that this process holds. One queue takes its writes, so renewals and fenced writes never
 * race.
 */
class HeldEpoch {
  readonly abort = new AbortController();
  readonly number: number;
  readonly #options: LeaseOptions;
  readonly #inherited: string;
  #lease: Lease;
  #renewedMs: number;
  /** Another process holds the lease, or may take it: it was given up. */
  #isGone = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(
    options: LeaseOptions,
    lease: Lease,
    number: number,
    renewedMs: number,
    inherited: string,
  ) {
    this.#options = options;
    this.#lease = lease;
    this.number = number;
    this.#renewedMs = renewedMs;
    this.#inherited = inherited;
    setMaxListeners(0, this.abort.signal);
  }

  /**
   * Whether the lease counts by its own time. A process that wakes from a pause has not noticed yet
   * that another may have taken it.
   */
  isHeld(): boolean {
    return !this.abort.signal.aborted && this.keepsOthersAway();
  }

  keepsOthersAway(): boolean {
    return !this.#isGone && this.#ageMs() < this.#options.durationMs;
  }

  /** Time since the last renewal began. */
  #ageMs(): number {
    return elapsedMs(this.#options) - this.#renewedMs;
  }

  /**
   * Leads until the lease is lost, or until `stop`. Rejects if the work fails: the process is to
   * end then, since it would take the lease again at once and fail again, alive to every probe.
   */
  async serve(stop: StopSignal, onLead: (epoch: Epoch) => Promise<void>): Promise<void> {
    const end = (): void => this.abort.abort();
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    const epoch: Epoch = {
      number: this.number,
      stop: this.abort.signal,
      inherited: this.#inherited,
      guardedWrite: (value) => this.#enqueue(() => this.#fence(value)),
      outrun: (number) => this.#enqueue(() => this.#outrun(number)),
    };
    const renewing = this.#renewUntilLost();
    try {
      await onLead(epoch);
    } catch (error) {
      if (!(error instanceof LeadershipLost)) throw error;
    } finally {
      end();
      stop.removeEventListener('abort', end);
      await renewing;
      await this.#release();
    }
  }

  async #renewUntilLost(): Promise<void> {
    const { clock, durationMs, log } = this.#options;
    while (!this.abort.signal.aborted) {
      await clock.sleep(durationMs / 3, this.abort.signal);
      if (this.abort.signal.aborted) return;
      const renewal = this.#enqueue(() => this.#write({})).catch((error: unknown) => {
        if (error instanceof LeadershipLost) return;
        log.warn('lease-renewal-failed', `the lease could not be renewed: ${String(error)}`);
      });
      // A renewal that hangs must not keep a dead epoch alive, so a deadline runs beside it. A
      // process that was held up may still ask: if the renewal succeeds, no other process took the
      // lease meanwhile.
      const leftMs = (durationMs * 2) / 3 - this.#ageMs();
      const beforeMs = this.#renewedMs;
      await Promise.race([renewal, clock.sleep(Math.max(durationMs, leftMs), this.abort.signal)]);
      if (this.#renewedMs === beforeMs && this.#ageMs() >= (durationMs * 2) / 3) this.abort.abort();
    }
  }

  async #fence(value: string): Promise<void> {
    if (this.abort.signal.aborted) throw new LeadershipLost(`epoch ${this.number} has ended`);
    await this.#write({ [roundAnnotation]: value });
  }

  async #outrun(number: number): Promise<void> {
    if (this.abort.signal.aborted || number <= this.number) return;
    await this.#write({ [epochAnnotation]: String(number) });
    this.#options.log.warn(
      'epoch-outrun',
      `there is work of epoch ${String(number)}, and this is epoch ${String(this.number)}: the lease ${this.#options.name} was deleted, or a clock was ahead; the next epoch is above both`,
      { epoch: this.number, found: number },
    );
    this.abort.abort();
  }

  async #write(annotations: Readonly<Record<string, string>>): Promise<void> {
    const startedMs = elapsedMs(this.#options);
    const wanted = leaseObject(
      this.#options,
      { ...this.#lease.metadata.annotations, ...annotations },
      this.#lease.spec?.leaseTransitions ?? 1,
      this.#lease.metadata.resourceVersion,
    );
    try {
      this.#lease = await this.#options.kube.replace(kubeResources.leases, wanted);
    } catch (error) {
      await this.#settle(error, wanted);
    }
    this.#renewedMs = startedMs;
  }

  /**
   * Decides after a write of unknown outcome: it stands, it can be tried again, or another process
   * has the lease.
   */
  async #settle(error: unknown, wanted: Lease): Promise<void> {
    if (
      !(error instanceof KubeError) ||
      !['conflict', 'not-found', 'unavailable'].includes(error.code)
    )
      throw error;
    const found = (await this.#options.kube.get(refOf(this.#options))) as Lease | undefined;
    if (found?.spec?.holderIdentity !== this.#options.identity) {
      this.#isGone = true;
      this.abort.abort();
      throw new LeadershipLost(
        `the lease is held by ${found?.spec?.holderIdentity ?? 'nobody'} now`,
      );
    }
    this.#lease = found;
    // It landed if it is what is read: another write, of ours or of someone else, is not this one.
    const landed = found.spec.renewTime === wanted.spec?.renewTime;
    if (!landed)
      this.#lease = await this.#options.kube.replace(kubeResources.leases, {
        ...wanted,
        metadata: { ...wanted.metadata, resourceVersion: found.metadata.resourceVersion ?? '' },
      });
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#queue.then(work, work);
    this.#queue = next.catch(() => undefined);
    return next;
  }

  /**
   * Gives the lease up, so that a successor need not wait. If this fails, the lease runs out by
   * itself.
   */
  async #release(): Promise<void> {
    if (!this.keepsOthersAway()) return;
    this.#isGone = true;
    await this.#enqueue(() =>
      this.#options.kube.replace(
        kubeResources.leases,
        leaseObject(
          this.#options,
          this.#lease.metadata.annotations ?? {},
          this.#lease.spec?.leaseTransitions ?? 1,
          this.#lease.metadata.resourceVersion,
          '',
        ),
      ),
    ).catch(() => undefined);
  }
}
