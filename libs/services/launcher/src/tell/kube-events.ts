import type { Clock, Hash, KubeApi, KubeObject, Log, StopSignal } from '@dovetail/core-ports';
import { KubeError, kubeResources } from '@dovetail/core-ports';
import { Latch } from '../loop/latch.js';

/** What an Event is about; Events of cluster-scoped objects live in the namespace `default`. */
export type EventSubject = { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly namespace?: string; readonly uid: string };
export type KubeEvent = { readonly about: EventSubject; readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string };

export const podSubject = (pod: { readonly name: string; readonly namespace: string; readonly uid: string }): EventSubject =>
  ({ apiVersion: 'v1', kind: 'Pod', name: pod.name, namespace: pod.namespace, uid: pod.uid });
export const nodeSubject = (node: { readonly name: string; readonly uid: string }): EventSubject => ({ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid });
export const claimSubject = (claim: { readonly name: string; readonly uid: string }): EventSubject =>
  ({ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: claim.name, uid: claim.uid });

/** Events of one kind about one object are not repeated sooner (Karpenter's time). */
const repeatMs = 120_000;
const queueMax = 5_000;
const writesInParallel = 8;

/** Writes Kubernetes Events where `kubectl describe` users look. They never hold up the work: what cannot be written is logged and dropped. */
export class KubeEvents {
  readonly #deps: { readonly kube: KubeApi; readonly clock: Clock; readonly log: Log; readonly hash: Hash };
  readonly #queue: KubeEvent[] = [];
  readonly #told = new Map<string, number>();
  readonly #latch = new Latch();

  constructor(deps: { readonly kube: KubeApi; readonly clock: Clock; readonly log: Log; readonly hash: Hash }) { this.#deps = deps; }

  tell(event: KubeEvent): void {
    const key = `${event.about.uid}/${event.reason}/${event.message}`;
    const nowMs = this.#deps.clock.nowMs();
    const last = this.#told.get(key);
    if (last !== undefined && nowMs - last < repeatMs) return;
    this.#told.set(key, nowMs);
    for (const [old, atMs] of this.#told) {
      if (this.#told.size <= queueMax && nowMs - atMs < repeatMs) break;
      this.#told.delete(old);
    }
    if (this.#queue.length >= queueMax) this.#queue.shift();
    this.#queue.push(event);
    this.#latch.raise();
  }

  /** Writes what is told, until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    const lane = async (): Promise<void> => {
      for (let event = this.#queue.shift(); event !== undefined && !stop.aborted; event = this.#queue.shift()) await this.#write(event);
    };
    while (!stop.aborted) {
      await this.#latch.wait(stop);
      await Promise.all(Array.from({ length: writesInParallel }, lane));
    }
  }

  async #write(event: KubeEvent): Promise<void> {
    const { kube, clock, hash, log } = this.#deps;
    const at = new Date(clock.nowMs()).toISOString();
    const namespace = event.about.namespace ?? 'default';
    // The same telling has the same name: a repetition after a crash is refused as existing, which is as good.
    const suffix = hash.sha256Hex(`${event.about.uid}/${event.reason}/${event.message}/${Math.floor(clock.nowMs() / repeatMs)}`).slice(0, 16);
    try {
      await kube.create(kubeResources.events, eventObject(event, { name: `${event.about.name.slice(0, 230)}.${suffix}`, namespace, at }));
    } catch (error) {
      if (error instanceof KubeError && error.code === 'already-exists') return;
      log.debug('event-not-written', 'an Event could not be written', { reason: event.reason, about: event.about.name, error: String(error) });
    }
  }
}

function eventObject(event: KubeEvent, as: { readonly name: string; readonly namespace: string; readonly at: string }): KubeObject {
  const second = `${as.at.slice(0, 19)}Z`;
  return {
    apiVersion: 'v1', kind: 'Event', metadata: { name: as.name, namespace: as.namespace },
    involvedObject: event.about, type: event.type, reason: event.reason, message: event.message.slice(0, 1024),
    source: { component: 'dovetail-launcher' }, reportingComponent: 'dovetail-launcher', reportingInstance: '',
    firstTimestamp: second, lastTimestamp: second, count: 1,
  };
}
