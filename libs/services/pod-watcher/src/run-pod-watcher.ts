import { type Channel, followCatalog, followState, type MalformedMessage, publishBatch, type StateKind, type StateRecord, streamSpecs, type Verdict } from '@dovetail/contracts';
import { type KubeApi, type KubeObject, kubeResources, type Leadership, type Log, type Metrics, Stopper, type StopSignal, type Term, type WatchEvent } from '@dovetail/core-ports';
import { Batches, type BatchPolicy, type Cut } from './batches.js';
import { auditMs, Feed, ownKinds } from './feed.js';
import { Pending } from './pending.js';
import { type Projection, type Source, sourcesFor } from './sources.js';
import { watchServed } from './served-watch.js';

export type PodWatcherDeps = { readonly kube: KubeApi; readonly channel: Channel; readonly leadership: Leadership; readonly log: Log; readonly metrics: Metrics };
export type PodWatcherConfig = BatchPolicy & {
  /** How often the stream is compared with what it should hold. */
  readonly reconcileMs: number;
  /** How long events are gathered before the pending pods are looked at. */
  readonly settleMs: number;
};

/** Karpenter waits a second of silence and ten seconds at most for any pods; here so long only for those that are certain to come. */
export const defaultPodWatcherConfig: PodWatcherConfig = {
  idleMs: 40, maxMs: 1_000, ownerIdleMs: 1_000, ownerMaxMs: 10_000, patienceMs: 5_000, patiencePerPodMs: 10, patienceMaxMs: 60_000, reconcileMs: 1_000, settleMs: 5,
};

/** After a look at the pending pods, this many times as long is left for other work. */
const looksShare = 4;

/** What the service believes, for its health pages. */
export type PodWatcherView = { readonly synced: () => boolean; readonly debugState: () => unknown };

/** Leads when it may, and while it leads tells the cluster's state and cuts batches, until `stop`. */
export function podWatcher(deps: PodWatcherDeps, config: PodWatcherConfig): PodWatcherView & { run(stop: StopSignal): Promise<void> } {
  let current: Watching | undefined;
  return {
    synced: () => current?.synced ?? false,
    debugState: () => current?.debugState() ?? { leading: false },
    run: (stop) => deps.leadership.run(stop, async (term) => {
      const version = await untilAnswered(deps, () => deps.kube.serverVersion(), term.stop);
      if (version === undefined) return;
      current = new Watching(deps, config, term, sourcesFor(version));
      try {
        await current.run();
      } finally {
        current = undefined;
      }
    }),
  };
}

async function untilAnswered<T>({ channel, log }: PodWatcherDeps, ask: () => Promise<T>, stop: StopSignal): Promise<T | undefined> {
  while (!stop.aborted) {
    try {
      return await ask();
    } catch (error) {
      log.warn('not-reachable', `${error instanceof Error ? error.message : String(error)}; trying again`);
      await channel.clock.sleep(1_000, stop);
    }
  }
  return undefined;
}

/** One term of watching. */
class Watching {
  private readonly deps: PodWatcherDeps;
  private readonly config: PodWatcherConfig;
  private readonly term: Term;
  private readonly sources: readonly Source[];
  private readonly feed: Feed;
  private readonly pending = new Pending();
  private readonly batches: Batches;
  private readonly unsynced: Set<string>;
  private readonly unreadable = new Map<string, string>();
  private readonly statesOf = new Map<string, readonly { kind: Parameters<Feed['gone']>[0]; uid: string }[]>();
  private round = 0;
  private wake: () => void = () => undefined;

  constructor(deps: PodWatcherDeps, config: PodWatcherConfig, term: Term, sources: readonly Source[]) {
    this.deps = deps;
    this.config = config;
    this.term = term;
    this.sources = sources;
    this.feed = new Feed({ channel: deps.channel, log: deps.log, metrics: deps.metrics, epoch: term.epoch });
    this.batches = new Batches(config);
    this.unsynced = new Set(sources.map((source) => source.resource.kind));
  }

  get synced(): boolean {
    return this.unsynced.size === 0;
  }

  async run(): Promise<void> {
    const { stop } = this.term;
    await untilAnswered(this.deps, () => this.deps.channel.bus.ensureStreams(streamSpecs(this.deps.channel.cluster)), stop);
    await Promise.all([
      ...this.sources.map((source) => this.watch(source)),
      this.watchOwners(),
      this.feed.run(stop),
      this.reconcile(),
      this.audit(),
      this.follow(),
      this.catalogChanges(),
      this.cutBatches(),
    ]);
  }

  private watch(source: Source): Promise<void> {
    return watchServed(this.deps, source, this.term.stop, {
      event: (event) => this.apply(source, event),
      // Legacy kinds need not be installed: nothing of them is all there is of them.
      absent: () => this.apply(source, { kind: 'synced' }),
    });
  }

  private apply(source: Source, event: WatchEvent<Projection>): void {
    if (event.kind === 'synced') {
      if (this.unsynced.delete(source.resource.kind)) this.deps.log.info('synced', `all ${source.resource.plural} have been seen`, { resource: source.resource.plural });
      this.wake();
    } else if (event.kind === 'gone') this.drop(event.uid);
    else if (event.value.ok) this.take(event.value);
    else this.refuse(source, event.value);
  }

  private take(projection: Extract<Projection, { ok: true }>): void {
    this.unreadable.delete(projection.uid);
    for (const before of this.statesOf.get(projection.uid) ?? []) {
      if (!projection.states.some((state) => state.kind === before.kind)) this.feed.gone(before.kind, before.uid);
    }
    this.statesOf.set(projection.uid, projection.states.map((state) => ({ kind: state.kind, uid: projection.uid })));
    let helps = false;
    for (const state of projection.states) {
      this.feed.set(projection.uid, state);
      helps = this.pending.set(projection.uid, state) || helps;
      this.settle(projection.uid, state.kind);
    }
    if (helps) this.pending.backoff.retryUnplaced(this.deps.channel.clock.nowMs());
    this.wake();
  }

  /** What a batch's solver or launcher will not answer for any more: a pod that waits no longer, or has room promised. */
  private settle(uid: string, kind: StateKind): void {
    if (kind === 'pod' && !this.pending.waits(uid)) this.batches.settled(uid);
    if (kind === 'claim' || kind === 'node' || kind === 'promise') for (const podUid of this.pending.promisedBy(uid)) this.batches.settled(podUid);
  }

  private drop(uid: string): void {
    for (const state of this.statesOf.get(uid) ?? []) this.feed.gone(state.kind, state.uid);
    this.statesOf.delete(uid);
    this.unreadable.delete(uid);
    this.batches.settled(uid);
    if (this.pending.gone(uid)) this.pending.backoff.retryUnplaced(this.deps.channel.clock.nowMs());
    this.wake();
  }

  /** An object that cannot be read stays as it was known last; it is named once per change of its fault. */
  private refuse(source: Source, wrong: Extract<Projection, { ok: false }>): void {
    const fault = `${wrong.field} is ${wrong.value}: ${wrong.remedy}`;
    if (this.unreadable.get(wrong.uid) === fault) return;
    this.unreadable.set(wrong.uid, fault);
    this.deps.metrics.count('dovetail_unreadable_objects_total', { kind: source.resource.kind });
    this.deps.log.warn('object-unreadable', `${source.resource.kind} ${wrong.name}: ${fault}`, { kind: source.resource.kind, name: wrong.name, field: wrong.field, value: wrong.value });
  }

  private watchOwners(): Promise<void> {
    const project = (object: KubeObject): { uid: string; replicas: number } => ({ uid: object.metadata.uid ?? '', replicas: Number((object['spec'] as { replicas?: number } | undefined)?.replicas ?? 1) });
    const event = (seen: WatchEvent<{ uid: string; replicas: number }>): void => {
      if (seen.kind === 'set') this.pending.owner(seen.value);
      else if (seen.kind === 'gone') this.pending.ownerGone(seen.uid);
      this.wake();
    };
    return watchServed(this.deps, { resource: kubeResources.replicaSets, project, optional: false }, this.term.stop, { event, absent: () => undefined });
  }

  private async reconcile(): Promise<void> {
    const { channel, metrics } = this.deps;
    const { stop } = this.term;
    while (!stop.aborted) {
      await channel.clock.sleep(this.config.reconcileMs, stop);
      if (stop.aborted) return;
      const { surplus } = this.feed.reconcile({ complete: this.synced, unreadable: new Set(this.unreadable.keys()) });
      if (surplus > 0) metrics.count('dovetail_state_repaired_total', {}, surplus);
      metrics.set('dovetail_state_backlog', this.feed.backlog);
      metrics.set('dovetail_pending_pods', this.pending.count);
    }
  }

  private async audit(): Promise<void> {
    const { channel, log } = this.deps;
    const { stop } = this.term;
    for (;;) {
      await channel.clock.sleep(auditMs, stop);
      if (stop.aborted) return;
      await this.feed.audit().catch((error: unknown) => log.debug('audit-failed', `the state stream could not be compared: ${String(error)}`));
    }
  }

  /** The stream as it is: what it holds of ours, and the launcher's verdicts. */
  private async follow(): Promise<void> {
    const { channel } = this.deps;
    for await (const event of followState(channel, this.term.stop, { kinds: [...ownKinds, 'verdict', 'promise'] })) {
      if (event.kind === 'reset') this.pending.forgetTold();
      if (event.kind === 'malformed') {
        this.malformed('state', event);
      } else if (event.kind !== 'record' || !this.hearLauncher(event.record)) this.feed.heard(event);
      this.wake();
    }
  }

  private malformed(stream: 'state' | 'catalog', { subject, field, reason }: MalformedMessage): void {
    this.deps.metrics.count('dovetail_malformed_messages_total', { stream });
    this.deps.log.warn('message-malformed', `${subject}: ${field}: ${reason}`, { subject, field });
  }

  /** Takes in what the launcher tells; false when it is not the launcher's. */
  private hearLauncher(record: StateRecord): boolean {
    const kind = record.kind === 'gone' ? record.stateKind : record.state.kind;
    if (kind !== 'verdict' && kind !== 'promise') return false;
    if (record.kind === 'gone') {
      if (kind === 'promise') this.pending.told(record.uid, undefined);
    } else if (record.state.kind === 'verdict') this.judged(record.state.value);
    else if (record.state.kind === 'promise') {
      this.pending.told(record.uid, record.state.value);
      this.settle(record.uid, record.state.kind);
    }
    return true;
  }

  private judged(verdict: Verdict): void {
    this.pending.verdict(verdict, this.deps.channel.clock.nowMs(), this.batches.cutMs(verdict.podUid));
    this.batches.settled(verdict.podUid);
    // The decision is the launcher's to tell: it has the whole plan, and one decision serves all pods alike.
    if (verdict.outcome === 'unplaced') this.deps.metrics.count('dovetail_pods_unschedulable_total', { reason: verdict.reasons[0]?.code ?? 'none' });
  }

  private async catalogChanges(): Promise<void> {
    for await (const event of followCatalog(this.deps.channel, this.term.stop)) {
      if (event.kind === 'malformed') this.malformed('catalog', event);
      if (event.kind !== 'class' && event.kind !== 'unavailable') continue;
      // An offering that has just run dry helps nobody now; its end does.
      if (event.kind === 'unavailable') void this.retryAt(event.offering.untilMs);
      else {
        this.pending.backoff.retryUnplaced(this.deps.channel.clock.nowMs());
        this.wake();
      }
    }
  }

  private async retryAt(atMs: number): Promise<void> {
    await this.deps.channel.clock.sleep(Math.max(0, atMs - this.deps.channel.clock.nowMs()), this.term.stop);
    this.pending.backoff.retryUnplaced(this.deps.channel.clock.nowMs());
    this.wake();
  }

  private async cutBatches(): Promise<void> {
    const { clock } = this.deps.channel;
    const { stop } = this.term;
    stop.addEventListener('abort', () => this.wake(), { once: true });
    while (!stop.aborted) {
      const woken = new Promise<void>((resolve) => (this.wake = resolve));
      const nowMs = clock.nowMs();
      const next = this.synced ? this.batches.cut(this.pending.groups(nowMs), (pods) => this.pending.arrivalOf(pods, nowMs), nowMs) : { cuts: [] };
      const lookMs = clock.nowMs() - nowMs;
      for (const cut of next.cuts) await this.send(cut);
      const times = [next.nextMs, this.pending.nextMs(nowMs)].filter((each) => each !== undefined);
      const wait = new Stopper();
      const timer = times.length === 0 ? new Promise<void>(() => undefined) : clock.sleep(Math.max(1, Math.min(...times) - clock.nowMs()), wait);
      await Promise.race([woken, timer]);
      // A burst of events is one look, not one each; and with many pods looking must leave time for reading.
      await clock.sleep(Math.max(this.config.settleMs, looksShare * lookMs), stop);
      wait.abort();
    }
  }

  private async send(cut: Cut): Promise<void> {
    const { channel, log, metrics } = this.deps;
    const { stop } = this.term;
    // The batch names what the feed must hold for its pods to be known: they have to be there first.
    const podUids = cut.pods.map((pod) => pod.uid);
    for (let untold = this.feed.untold('pod', podUids); untold.length > 0 && !stop.aborted; untold = this.feed.untold('pod', untold)) await channel.clock.sleep(1, stop);
    if (stop.aborted) return;
    this.round += 1;
    const nowMs = channel.clock.nowMs();
    const batch = {
      group: cut.group, podUids, round: `${this.term.epoch}.${this.round}`,
      statePosition: this.feed.position, cutAtMs: nowMs, youngestMs: Math.max(...cut.pods.map((pod) => pod.createdMs)),
    };
    try {
      await publishBatch(channel, batch);
      metrics.count('dovetail_batches_total');
      metrics.observe('dovetail_batch_pods', cut.pods.length);
      log.info('batch', `${cut.pods.length} pods of group ${cut.group} wait for a plan`, { group: cut.group, pods: cut.pods.length, round: batch.round });
    } catch (error) {
      // Nobody will judge these pods: let the next pass cut them again.
      for (const pod of cut.pods) this.batches.settled(pod.uid);
      log.warn('batch-not-queued', `the batch of group ${cut.group} could not be queued: ${String(error)}; it is cut again`);
      await channel.clock.sleep(250, stop);
      this.wake();
    }
  }

  debugState(): unknown {
    return {
      leading: true, epoch: this.term.epoch, synced: this.synced, waitingFor: [...this.unsynced], pendingPods: this.pending.count, round: this.round,
      position: this.feed.position, backlog: this.feed.backlog, unreadable: Object.fromEntries(this.unreadable),
    };
  }
}
