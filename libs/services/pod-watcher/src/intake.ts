import type { StateKind } from '@dovetail/contracts';
import {
  type KubeObject,
  kubeResources,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';
import { AdmittedTemplates, watchServed } from '@dovetail/service-kit';

import type { PodWatcherDeps } from './config.js';
import type { Parts } from './parts.js';
import type { OwnerReplicas } from './pending.js';
import type { Projection, Source } from './sources.js';

/** Kubernetes starts one replica if a ReplicaSet gives no number. */
const replicasDefault = 1;

/** The kinds by which the API server changes pods; they are no state of their own. */
const admissionSources = [
  {
    kind: 'limitRange',
    kinds: ['daemonset'],
    resource: kubeResources.limitRanges,
    optional: false,
  },
  {
    kind: 'runtimeClass',
    kinds: ['daemonset'],
    resource: kubeResources.runtimeClasses,
    optional: true,
  },
] as const;
type AdmissionSource = (typeof admissionSources)[number];

/**
 * Passes the objects of the watches on to the state feed and to the pending pods.
 *
 * Invariant: the feed wants exactly the states that the last readable reading of each object had.
 */
export class Intake {
  readonly #deps: PodWatcherDeps;
  readonly #parts: Parts;
  readonly #sources: readonly Source[];
  /** The kinds of state that each resource becomes whose first list is not complete. */
  readonly #unsynced: Map<string, readonly StateKind[]>;
  readonly #templates = new AdmittedTemplates();
  /** The kinds of state that an object has in the feed, by its UID. */
  readonly #kindsOf = new Map<string, readonly StateKind[]>();

  constructor(deps: PodWatcherDeps, parts: Parts, sources: readonly Source[]) {
    this.#deps = deps;
    this.#parts = parts;
    this.#sources = sources;
    this.#unsynced = new Map(
      [...sources, ...admissionSources].map(({ resource, kinds }) => [resource.kind, kinds]),
    );
  }

  /** Whether every watch has shown all its objects. */
  get synced(): boolean {
    return this.#unsynced.size === 0;
  }

  /** The resources whose first list is not complete. */
  get unsynced(): readonly string[] {
    return [...this.#unsynced.keys()];
  }

  /** The kinds of state of which not every object has been seen. */
  get incomplete(): ReadonlySet<StateKind> {
    return new Set([...this.#unsynced.values()].flat());
  }

  /** Watches until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const deps = { ...this.#deps, clock: this.#deps.channel.clock };
    const watches = this.#sources.map((source) =>
      watchServed(
        deps,
        { ...source, project: (object) => source.project(this.#admitted(source, object)) },
        {
          event: (event) => this.#apply(source, event),
          // A legacy API that is not installed has no objects, so its list is complete.
          absent: () => this.#apply(source, { kind: 'synced' }),
        },
        stop,
      ),
    );
    const owners = watchServed(
      deps,
      { resource: kubeResources.replicaSets, project: replicasOf, optional: false },
      { event: (event) => this.#applyOwner(event), absent: () => undefined },
      stop,
    );
    const admission = admissionSources.map((source) =>
      watchServed(
        deps,
        { ...source, project: (object) => object },
        {
          event: (event) => this.#applyAdmission(source, event),
          absent: () => this.#markSynced(source),
        },
        stop,
      ),
    );
    await Promise.all([...watches, owners, ...admission]);
  }

  #apply(source: Source, event: WatchEvent<Projection>): void {
    if (event.kind === 'synced') this.#markSynced(source);
    else if (event.kind === 'gone') this.#drop(event.uid);
    // The feed takes every reading in the order of the watch, whatever its version.
    else if (event.kind === 'restored') return;
    else if (event.value.ok) this.#take(event.value);
    else {
      // The object stays in the feed as in its last readable state.
      const { uid, name, ...failure } = event.value;
      this.#parts.unreadable.report({ kind: source.resource.kind, name, uid }, failure);
      return;
    }
    this.#parts.wake.raise();
  }

  /** A daemonset is read as its pods will be; other objects as they are. */
  #admitted({ resource }: Source, object: KubeObject): KubeObject {
    return resource === kubeResources.daemonSets ? this.#templates.daemonSet(object) : object;
  }

  /** Reads the daemonsets again that a changed LimitRange or RuntimeClass is about. */
  #applyAdmission(source: AdmissionSource, event: WatchEvent<KubeObject>): void {
    if (event.kind === 'synced') this.#markSynced(source);
    const again =
      event.kind === 'set'
        ? this.#templates.set(source.kind, event.value)
        : event.kind === 'gone'
          ? this.#templates.gone(source.kind, event.uid)
          : [];
    const daemonSets = this.#sources.find(({ resource }) => resource === kubeResources.daemonSets);
    if (daemonSets === undefined) return;
    for (const daemonSet of again)
      this.#apply(daemonSets, { kind: 'set', value: daemonSets.project(daemonSet) });
  }

  #markSynced({ resource }: Pick<Source, 'resource'>): void {
    if (this.#unsynced.delete(resource.kind))
      this.#deps.log.info('synced', `all ${resource.plural} have been seen`, {
        resource: resource.plural,
      });
  }

  #take({ uid, states }: Extract<Projection, { ok: true }>): void {
    const { feed, pending, unreadable } = this.#parts;
    unreadable.forget(uid);
    const kinds = states.map((state) => state.kind);
    for (const before of this.#kindsOf.get(uid) ?? [])
      if (!kinds.includes(before)) feed.gone(before, uid);
    this.#kindsOf.set(uid, kinds);
    let helps = false;
    for (const state of states) {
      feed.set(uid, state);
      helps = pending.set(uid, state) || helps;
      this.#settle(uid, state.kind);
    }
    if (helps) this.#retryUnplaced();
  }

  /** Settles pods that await no verdict any more: they have a place or a promise. */
  #settle(uid: string, kind: StateKind): void {
    const { pending, batches } = this.#parts;
    if (kind === 'pod' && !pending.waits(uid)) batches.settled(uid);
    if (kind === 'claim' || kind === 'node')
      for (const podUid of pending.promisedBy(uid)) batches.settled(podUid);
  }

  #drop(uid: string): void {
    this.#templates.daemonSetGone(uid);
    const { feed, pending, batches, unreadable } = this.#parts;
    for (const kind of this.#kindsOf.get(uid) ?? []) feed.gone(kind, uid);
    this.#kindsOf.delete(uid);
    unreadable.forget(uid);
    batches.settled(uid);
    if (pending.gone(uid)) this.#retryUnplaced();
  }

  #applyOwner(event: WatchEvent<OwnerReplicas>): void {
    const { pending, wake } = this.#parts;
    if (event.kind === 'set') pending.owner(event.value);
    else if (event.kind === 'gone') pending.ownerGone(event.uid);
    wake.raise();
  }

  #retryUnplaced(): void {
    this.#parts.pending.backoff.retryUnplaced(this.#deps.channel.clock.nowMs());
  }
}

const replicasOf = (object: KubeObject): OwnerReplicas => ({
  uid: object.metadata.uid ?? '',
  replicas: Number(
    (object['spec'] as { readonly replicas?: number } | undefined)?.replicas ?? replicasDefault,
  ),
});
