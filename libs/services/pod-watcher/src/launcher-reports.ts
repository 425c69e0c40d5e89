import { followCatalog, followState, type StateRecord, type Verdict } from '@dovetail/contracts';
import type { StopSignal } from '@dovetail/core-ports';
import { reportMalformed } from '@dovetail/service-kit';

import type { PodWatcherDeps } from './config.js';
import type { Parts } from './parts.js';
import { ownKinds } from './sources.js';

/** Verdicts that are remembered: more pods than any cluster has pending, in some 20 MB. */
const heardMax = 100_000;

/** Reads the streams that the launcher writes: verdicts, promises and the catalog. */
export class LauncherReports {
  readonly #deps: PodWatcherDeps;
  readonly #parts: Parts;
  /** The last verdict on each pod: its plan and outcome. */
  readonly #heard = new Map<string, string>();
  #saidLast = '';

  constructor(deps: PodWatcherDeps, parts: Parts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  /**
   * Follows the state feed until `stop`: our own records as the stream holds them, and the
   * launcher's.
   */
  async followState(stop: StopSignal): Promise<void> {
    const { feed, pending, wake } = this.#parts;
    const kinds = [...ownKinds, 'verdict', 'promise'] as const;
    for await (const event of followState(this.#deps.channel, stop, { kinds })) {
      if (event.kind === 'reset') pending.forgetPublished();
      if (event.kind === 'malformed') reportMalformed(this.#deps, event);
      else if (event.kind !== 'record' || !this.#takeReport(event.record)) feed.heard(event);
      wake.raise();
    }
  }

  /** Follows the catalog until `stop`. New types and returning capacity may help unplaced pods. */
  async followCatalog(stop: StopSignal): Promise<void> {
    for await (const event of followCatalog(this.#deps.channel, stop)) {
      if (event.kind === 'malformed') reportMalformed(this.#deps, event);
      else if (event.kind === 'class') this.#retryUnplaced();
      // An offering that ran dry helps no pod now. Its return does.
      else if (event.kind === 'unavailable') void this.#retryAt(event.offering.untilMs, stop);
    }
  }

  /** Takes a record of the launcher. Returns false for a record of our own. */
  #takeReport(record: StateRecord): boolean {
    const kind = record.kind === 'gone' ? record.stateKind : record.state.kind;
    if (kind !== 'verdict' && kind !== 'promise') return false;
    const { pending, batches } = this.#parts;
    if (record.kind === 'gone') {
      if (kind === 'promise') pending.published(record.uid, undefined);
    } else if (record.state.kind === 'verdict') this.#takeVerdict(record.state.value);
    else if (record.state.kind === 'promise') {
      pending.published(record.uid, record.state.value);
      for (const podUid of pending.promisedBy(record.uid)) batches.settled(podUid);
    }
    return true;
  }

  #takeVerdict(verdict: Verdict): void {
    if (!this.#isNews(verdict)) return;
    const { pending, batches } = this.#parts;
    // A verdict may be read long after it was told, by a leader that has just taken over.
    const nowMs = Math.min(this.#deps.channel.clock.nowMs(), verdict.atMs);
    pending.verdict(verdict, nowMs, batches.cutMs(verdict.podUid));
    batches.settled(verdict.podUid);
    // The launcher publishes the decision: it has the whole plan, and one decision serves equal
    // pods.
    if (verdict.outcome === 'unplaced')
      this.#deps.metrics.count('dovetail_pods_unschedulable_total', {
        reason: verdict.reasons[0]?.code ?? 'none',
      });
  }

  /**
   * A plan that came to the launcher again is answered again, which says nothing new of its pods.
   */
  #isNews({ podUid, planId, outcome }: Verdict): boolean {
    const text = `${planId} ${outcome}`;
    // The verdicts of a plan come in a row: one text serves them all.
    const said = this.#saidLast === text ? this.#saidLast : text;
    this.#saidLast = said;
    if (this.#heard.get(podUid) === said) return false;
    this.#heard.delete(podUid);
    this.#heard.set(podUid, said);
    if (this.#heard.size > heardMax) this.#heard.delete(this.#heard.keys().next().value ?? '');
    return true;
  }

  async #retryAt(atMs: number, stop: StopSignal): Promise<void> {
    const { clock } = this.#deps.channel;
    await clock.sleep(Math.max(0, atMs - clock.nowMs()), stop);
    this.#retryUnplaced();
  }

  #retryUnplaced(): void {
    this.#parts.pending.backoff.retryUnplaced(this.#deps.channel.clock.nowMs());
    this.#parts.wake.raise();
  }
}
