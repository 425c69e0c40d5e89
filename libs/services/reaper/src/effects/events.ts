import type { NodeClaim } from '@dovetail/core-api';
import type { Node, Pod } from '@dovetail/core-kube-model';
import { KubeError, kubeResources, type StopSignal } from '@dovetail/core-ports';
import type { ReaperDeps } from '../deps.js';
import { Nap } from '../loop/nap.js';

/** What an Event is about. */
export type Subject = { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string; readonly namespace?: string };
export const aboutPod = (pod: Pod): Subject => ({ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid, namespace: pod.namespace });
export const aboutNode = (node: Pick<Node, 'name' | 'uid'>): Subject => ({ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid });
export const aboutClaim = (claim: Pick<NodeClaim, 'name' | 'uid'>): Subject => ({ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: claim.name, uid: claim.uid });

export type EventToWrite = { readonly about: Subject; readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string };

/** The same Event is written again only after this time (Karpenter: 2 min). */
const dedupeMs = 120_000;
const rememberedMax = 20_000;
const waitingMax = 2_000;
/** Of the object's name in an Event's own, which ends in a dot and 16 digits and has at most 253 characters. */
const nameMax = 236;

/** Kubernetes Events, written behind the work: they inform people, nothing waits for them and nothing fails with them. */
export class Events {
  readonly #deps: ReaperDeps;
  readonly #nap: Nap;
  readonly #written = new Map<string, { readonly atMs: number; readonly count: number }>();
  #waiting: { readonly event: EventToWrite; readonly name: string; readonly count: number }[] = [];

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
    this.#nap = new Nap(deps.clock);
  }

  write(event: EventToWrite, options: { readonly dedupeMs?: number } = {}): void {
    const key = `${event.about.uid}/${event.reason}/${event.message}`;
    const nowMs = this.#deps.clock.nowMs();
    const before = this.#written.get(key);
    if (before !== undefined && nowMs - before.atMs < (options.dedupeMs ?? dedupeMs)) return;
    if (this.#written.size >= rememberedMax) this.#written.clear();
    const count = (before?.count ?? 0) + 1;
    this.#written.set(key, { atMs: nowMs, count });
    if (this.#waiting.length >= waitingMax) { this.#deps.metrics.count('dovetail_events_dropped_total'); return; }
    this.#waiting.push({ event, name: `${event.about.name.slice(0, nameMax)}.${this.#deps.hash.sha256Hex(key).slice(0, 16)}`, count });
    this.#nap.wake();
  }

  async run(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      for (const { event, name, count } of this.#waiting.splice(0)) {
        if (stop.aborted) return;
        await this.#send(event, name, count).catch((error: unknown) => this.#deps.log.debug('event-failed', `the Event ${event.reason} could not be written: ${String(error)}`, { reason: event.reason }));
      }
      await this.#nap.rest(3_600_000, stop);
    }
  }

  async #send({ about, type, reason, message }: EventToWrite, name: string, count: number): Promise<void> {
    const { kube, clock } = this.#deps;
    const now = new Date(clock.nowMs()).toISOString().replace(/\.[0-9]+Z$/, 'Z');
    const namespace = about.namespace ?? 'default';
    const component = { source: { component: 'dovetail' }, reportingComponent: 'dovetail' };
    try {
      await kube.create(kubeResources.events, {
        apiVersion: 'v1', kind: 'Event', metadata: { name, namespace }, involvedObject: { ...about, ...(about.namespace === undefined ? {} : { namespace }) },
        reason, message: message.slice(0, 1024), type, firstTimestamp: now, lastTimestamp: now, count, ...component,
      });
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'already-exists') throw error;
      // The count is ours since the last restart: Events are not read back, which takes one right less.
      await kube.patch({ resource: kubeResources.events, namespace, name }, { type: 'merge', body: { lastTimestamp: now, count: Math.max(count, 2) } });
    }
  }
}
