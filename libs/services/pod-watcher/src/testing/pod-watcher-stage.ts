import {
  type Decision,
  decodePendingBatch,
  followDecisions,
  followState,
  type PendingBatch,
  publishVerdict,
  type StateEvent,
  type StateKind,
  streamName,
  subjects,
  type Verdict,
} from '@dovetail/contracts';
import {
  type Bus,
  BusError,
  type KubeApi,
  kubeResources,
  noVitals,
  type Service,
  Stopper,
} from '@dovetail/core-ports';
import { clusterName, leading, nodePoolObject, podObject, Stage } from '@dovetail/sim-stage';

import { defaultPodWatcherConfig, type PodWatcherConfig } from '../config.js';
import { createPodWatcher } from '../pod-watcher.js';

export type RunningPodWatcher = Service & { end(): void };

/**
 * A stage for pod-watchers that keeps everything they publish. Batches stay in the queue, because
 * there is no solver.
 */
export class PodWatcherStage extends Stage {
  readonly batches: PendingBatch[] = [];
  readonly decisions: Decision[] = [];
  readonly feed: StateEvent[] = [];
  /** Whether Kubernetes has answered the pod-watchers, as they are told. */
  answered = true;
  /** Whether the bus refuses a message of this subject, as a full stream does. */
  isRefused: (subject: string) => boolean = () => false;
  #verdicts = 0;

  override async begin(): Promise<this> {
    await super.begin();
    void this.#collect();
    return this;
  }

  /** Starts a pod-watcher that leads in this epoch until its `end` is called. */
  watcher(
    epoch: number,
    config: Partial<PodWatcherConfig> = {},
    kube: KubeApi = this.kube,
  ): RunningPodWatcher {
    const office = new Stopper(this.stop.signal);
    const view = createPodWatcher(
      {
        kube,
        connection: { answered: () => this.answered },
        channel: this.channelOf('pod-watcher', this.#refusingBus()),
        leadership: leading(epoch, office),
        log: this.log,
        metrics: this.metrics,
        vitals: noVitals,
      },
      { ...defaultPodWatcherConfig, ...config },
    );
    view.run(office).catch((error: unknown) => this.log.error('died', String(error)));
    return { ...view, end: () => office.abort() };
  }

  #refusingBus(): Bus {
    const bus = this.connect();
    const publish = bus.publish.bind(bus);
    return Object.assign(bus, {
      publish: (message: Parameters<Bus['publish']>[0]) =>
        this.isRefused(message.subject)
          ? Promise.reject(new BusError('full', 'maximum bytes exceeded'))
          : publish(message),
    });
  }

  /** Starts a pod-watcher and waits until it has published everything. */
  async leader(): Promise<{ readonly kube: Stage['kube']; readonly watcher: RunningPodWatcher }> {
    const watcher = this.watcher(1);
    await this.advance(50);
    return { kube: this.kube, watcher };
  }

  /** Makes a pod, unschedulable by default. Returns its UID. */
  async pod(
    name: string,
    extra: {
      readonly spec?: object;
      readonly metadata?: object;
      readonly unschedulable?: boolean;
    } = {},
  ): Promise<string> {
    const { spec = {}, metadata = {} } = extra;
    const object = podObject(name, { cpu: '100m', labels: {}, metadata, spec });
    const made = await this.kube.create(kubeResources.pods, object);
    if (extra.unschedulable !== false) await this.unschedulable(name);
    return made.metadata.uid ?? '';
  }

  /** Makes kube-scheduler find no place for the pod. */
  async unschedulable(name: string): Promise<void> {
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no nodes' },
    ];
    await this.kube.patch(
      { resource: kubeResources.pods, namespace: 'default', name },
      { type: 'merge', body: { status: { conditions } } },
      { subresource: 'status' },
    );
  }

  /** Makes a NodePool that is ready. Returns its UID. */
  async pool(name: string, node: object = {}): Promise<string> {
    const object = nodePoolObject(name, { node: { requirements: [], ...node } });
    const made = await this.kube.create(kubeResources.nodePools, object);
    const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '' };
    const lastTransitionTime = new Date(this.clock.nowMs()).toISOString();
    await this.kube.patch(
      { resource: kubeResources.nodePools, name },
      { type: 'merge', body: { status: { conditions: [{ ...ready, lastTransitionTime }] } } },
      { subresource: 'status' },
    );
    return made.metadata.uid ?? '';
  }

  /** Publishes the launcher's verdict on a pod. */
  async verdict(
    podUid: string,
    outcome: Verdict['outcome'],
    change: Partial<Verdict> = {},
  ): Promise<void> {
    this.#verdicts += 1;
    const value: Verdict = {
      podUid,
      outcome,
      planId: `plan-${String(this.#verdicts)}`,
      binId: outcome === 'unplaced' ? '' : 'bin-0',
      admission: { epoch: 1, number: this.#verdicts },
      atMs: this.clock.nowMs(),
      reasons:
        outcome === 'admitted'
          ? []
          : [{ code: 'no-offering', message: 'nothing fits', values: {} }],
      ...change,
    };
    await publishVerdict(this.channel, value, { generation: `1.${String(this.#verdicts)}` });
    await this.advance(0);
  }

  /**
   * The content of the state feed for one kind, by UID: the object's name, or `gone` for a
   * tombstone.
   */
  async held(kind: StateKind): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const stop = new Stopper();
    for await (const event of followState(this.channel, stop, { kinds: [kind] })) {
      if (event.kind === 'caught-up') break;
      if (event.kind === 'record') found.set(event.record.uid, nameIn(event.record));
    }
    return found;
  }

  #collect(): Promise<unknown> {
    const { signal } = this.stop;
    const listen = async <T>(events: AsyncIterable<T>, take: (event: T) => void): Promise<void> => {
      for await (const event of events) take(event);
    };
    const pending = {
      stream: streamName(clusterName, 'pending'),
      filters: [subjects.pendingAll(clusterName)],
      from: 'first',
    } as const;
    return Promise.all([
      listen(followState(this.channel, signal), (event) => this.feed.push(event)),
      listen(followDecisions(this.channel, signal), (event) => {
        if (event.kind === 'decision') this.decisions.push(event.decision);
      }),
      listen(this.bus.follow(pending, signal), (event) => {
        const read =
          event.kind === 'message' ? decodePendingBatch(event.message.payload) : undefined;
        if (read?.ok === true) this.batches.push(read.value);
      }),
    ]);
  }
}

type RecordEvent = Extract<StateEvent, { readonly kind: 'record' }>;

function nameIn(record: RecordEvent['record']): string {
  if (record.kind === 'gone') return 'gone';
  const { kind, value } = record.state;
  if ('name' in value) return value.name;
  return 'identity' in value ? value.identity.name : kind;
}
