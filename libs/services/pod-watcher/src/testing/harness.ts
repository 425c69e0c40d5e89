/** A cluster and a bus in one process, under a clock that the test moves: everything but the pod-watcher itself. */
import { readdirSync, readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Channel, decodePendingBatch, followDecisions, followState, type Decision, type PendingBatch, publishVerdict, type StateEvent, type StateKind, streamName, streamSpecs, subjects, type Verdict } from '@dovetail/contracts';
import { type Bus, type KubeApi, type KubeObject, type KubeResource, kubeResources, type Leadership, type Log, Stopper, type StopSignal } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { createKubeStore, createManualClock, inProcessKube, type SimClock } from '@dovetail/sim-kube';
import { parse } from 'yaml';
import { defaultPodWatcherConfig, podWatcher, type PodWatcherConfig, type PodWatcherView } from '../run-pod-watcher.js';

export const cluster = 'lab';
const definitions: KubeResource = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions', namespaced: false };
const crdFolder = join(import.meta.dirname, '../../../../../deploy/crds');

export type Line = { readonly level: string; readonly name: string; readonly message: string };

export class Stage {
  readonly clock: SimClock = createManualClock(Date.UTC(2026, 10, 21));
  readonly store = createKubeStore({ clock: this.clock, seed: 1 });
  readonly kube: KubeApi = inProcessKube(this.store);
  readonly server = new MemoryBusServer(this.clock);
  readonly bus: Bus = memoryBus(this.server);
  readonly hash = { sha256Hex: (text: string): string => createHash('sha256').update(text).digest('hex') };
  readonly channel: Channel = { bus: this.bus, cluster, source: 'test', clock: this.clock, hash: this.hash };
  readonly lines: Line[] = [];
  readonly counts = new Map<string, number>();
  readonly batches: PendingBatch[] = [];
  readonly decisions: Decision[] = [];
  readonly feed: StateEvent[] = [];
  readonly stop = new Stopper();
  #verdicts = 0;
  #terms: Stopper[] = [];

  readonly log: Log = {
    debug: (name, message) => void this.lines.push({ level: 'debug', name, message }), info: (name, message) => void this.lines.push({ level: 'info', name, message }),
    warn: (name, message) => void this.lines.push({ level: 'warn', name, message }), error: (name, message) => void this.lines.push({ level: 'error', name, message }),
  };
  readonly metrics = {
    count: (name: string, _labels: Readonly<Record<string, string>> = {}, by = 1): void => void this.counts.set(name, (this.counts.get(name) ?? 0) + by),
    set: (name: string, value: number): void => void this.counts.set(name, value), observe: (): void => undefined,
  };

  /** Installs the definitions and listens to what is told. `solvers: false` leaves batches in the queue. */
  async begin(options: { readonly crds?: (file: string) => boolean } = {}): Promise<this> {
    await this.installCrds(options.crds ?? (() => true));
    await this.bus.ensureStreams(streamSpecs(cluster));
    void this.#collect();
    return this;
  }

  async installCrds(wanted: (file: string) => boolean): Promise<void> {
    for (const file of readdirSync(crdFolder).filter((each) => each.endsWith('.yaml') && wanted(each))) {
      await this.kube.create(definitions, parse(readFileSync(join(crdFolder, file), 'utf8')) as KubeObject);
    }
  }

  #collect(): Promise<unknown> {
    const listen = async <T>(events: AsyncIterable<T>, take: (event: T) => void): Promise<void> => {
      for await (const event of events) take(event);
    };
    return Promise.all([
      listen(followState(this.channel, this.stop), (event) => this.feed.push(event)),
      listen(followDecisions(this.channel, this.stop), (event) => void (event.kind === 'decision' && this.decisions.push(event.decision))),
      listen(this.bus.follow({ stream: streamName(cluster, 'pending'), filters: [subjects.pendingAll(cluster)], from: 'first' }, this.stop), (event) => {
        const read = event.kind === 'message' ? decodePendingBatch(event.message.payload) : undefined;
        if (read?.ok === true) this.batches.push(read.value);
      }),
    ]);
  }

  /** A pod-watcher that leads in this epoch until its `end` is called. */
  watcher(epoch: number, config: Partial<PodWatcherConfig> = {}): PodWatcherView & { end(): void } {
    const term = new Stopper(this.stop);
    this.#terms.push(term);
    const view = podWatcher({ kube: this.kube, channel: { ...this.channel, bus: memoryBus(this.server), source: 'pod-watcher' }, leadership: leading(epoch, term), log: this.log, metrics: this.metrics }, { ...defaultPodWatcherConfig, ...config });
    view.run(term).catch((error: unknown) => this.lines.push({ level: 'error', name: 'died', message: String(error) }));
    return { ...view, end: () => term.abort() };
  }

  /** Time passes in small steps; whatever a step starts settles before the next. */
  async advance(ms: number): Promise<void> {
    await settle();
    for (let left = ms; left > 0; left -= 5) {
      this.clock.advance(Math.min(5, left));
      await settle();
    }
  }

  async pod(name: string, extra: { readonly spec?: object; readonly metadata?: object; readonly unschedulable?: boolean } = {}): Promise<string> {
    const made = await this.kube.create(kubeResources.pods, {
      metadata: { name, namespace: 'default', ...extra.metadata }, spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '100m' } } }], ...extra.spec },
    });
    if (extra.unschedulable !== false) await this.unschedulable(name);
    return made.metadata.uid as string;
  }

  async unschedulable(name: string): Promise<void> {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no nodes' }];
    await this.kube.patch({ resource: kubeResources.pods, namespace: 'default', name }, { type: 'merge', body: { status: { conditions } } }, { subresource: 'status' });
  }

  async pool(name: string, spec: object = {}): Promise<string> {
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
    const made = await this.kube.create(kubeResources.nodePools, { metadata: { name }, spec: { disruption: { consolidateAfter: '0s', consolidationPolicy: 'WhenEmpty', budgets: [{ nodes: '10%' }] }, template: { spec: { nodeClassRef, requirements: [], ...spec } } } });
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '2026-11-21T00:00:00Z' }];
    await this.kube.patch({ resource: kubeResources.nodePools, name }, { type: 'merge', body: { status: { conditions } } }, { subresource: 'status' });
    return made.metadata.uid as string;
  }

  /** The launcher's verdict on a pod, as the state feed carries it. */
  async verdict(podUid: string, outcome: Verdict['outcome'], change: Partial<Verdict> = {}): Promise<void> {
    this.#verdicts += 1;
    const value: Verdict = {
      podUid, outcome, planId: 'plan-1', binId: outcome === 'unplaced' ? '' : 'bin-0', admission: { epoch: 1, number: this.#verdicts }, atMs: this.clock.nowMs(),
      reasons: outcome === 'admitted' ? [] : [{ code: 'no-offering', message: 'nothing fits', values: {} }], ...change,
    };
    await publishVerdict(this.channel, value, { generation: `1.${String(this.#verdicts)}` });
    await settle();
  }

  /** What the stream holds of a kind now: `name` for objects, `gone` for tombstones, by UID. */
  async held(kind: StateKind): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const stop = new Stopper();
    for await (const event of followState(this.channel, stop, { kinds: [kind] })) {
      if (event.kind === 'caught-up') break;
      if (event.kind !== 'record') continue;
      const { record } = event;
      if (record.kind === 'gone') found.set(record.uid, 'gone');
      else if ('name' in record.state.value) found.set(record.uid, record.state.value.name);
      else found.set(record.uid, 'identity' in record.state.value ? record.state.value.identity.name : record.state.kind);
    }
    return found;
  }

  said(name: string): readonly Line[] {
    return this.lines.filter((line) => line.name === name);
  }
}

const leading = (epoch: number, term: StopSignal): Leadership => ({
  held: () => !term.aborted, epoch: () => epoch,
  run: async (stop, onLead) => {
    if (!stop.aborted) await onLead({ epoch, stop, guardedWrite: () => Promise.resolve(), inherited: '' });
  },
});

export async function settle(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** A stage on which a pod-watcher leads and has told what there is. */
export async function withWatcher(stage: Stage): Promise<Stage & { watcher: ReturnType<Stage['watcher']> }> {
  const watcher = stage.watcher(1);
  await stage.advance(50);
  return Object.assign(Object.create(stage) as Stage, { watcher });
}
