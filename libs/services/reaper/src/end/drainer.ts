import type { DrainPlan, DisruptionNote } from '@dovetail/core-disruption';
import type { Node, Pod } from '@dovetail/core-kube-model';
import { KubeError, kubeResources } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { aboutNode, aboutPod } from '../effects/events.js';

type Backoff = { readonly untilMs: number; readonly delayMs: number };

/** Carries out one step of draining: evictions through the API that asks the budgets, deletions where the deadline is near. */
export class Drainer {
  readonly #reaping: Pick<Reaping, 'deps' | 'config' | 'events'>;
  /** Pods whose eviction was refused, by UID: each is tried again at its own pace. */
  readonly #refused = new Map<string, Backoff>();

  constructor(reaping: Pick<Reaping, 'deps' | 'config' | 'events'>) { this.#reaping = reaping; }

  async step(node: Node, plan: DrainPlan, reason: string): Promise<void> {
    const nowMs = this.#reaping.deps.clock.nowMs();
    const due = plan.evict.filter((pod) => (this.#refused.get(pod.uid)?.untilMs ?? 0) <= nowMs);
    await Promise.all([
      ...due.map((pod) => this.#evict(node, pod, reason)),
      ...plan.force.map(({ pod, gracePeriodSeconds }) => this.#force(pod, gracePeriodSeconds)),
    ]);
    for (const note of plan.waitingFor.flatMap((waiting) => waiting.note ?? [])) this.#tellBlocked(node, note);
  }

  /** Forgets what was remembered of pods that are gone. */
  forget(podExists: (uid: string) => boolean): void {
    for (const uid of this.#refused.keys()) if (!podExists(uid)) this.#refused.delete(uid);
  }

  async #evict(node: Node, pod: Pod, reason: string): Promise<void> {
    const { kube, metrics } = this.#reaping.deps;
    try {
      const outcome = await kube.evict({ namespace: pod.namespace, name: pod.name, uid: pod.uid });
      this.#refused.delete(pod.uid);
      metrics.count('karpenter_pods_eviction_requests_total', { code: outcome === 'evicted' ? '201' : '404' });
      if (outcome === 'evicted') this.#reaping.events.write({ about: aboutPod(pod), type: 'Normal', reason: 'Evicted', message: `Evicted pod: ${reason}` });
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      metrics.count('karpenter_pods_eviction_requests_total', { code: error.code === 'too-many-requests' ? '429' : error.code });
      this.#putOff(pod, error);
      this.#reaping.events.write({ about: aboutNode(node), type: 'Warning', reason: 'FailedDraining', message: `Failed to drain node: evicting pod ${pod.namespace}/${pod.name} was refused: ${error.message}` });
    }
  }

  #putOff(pod: Pod, error: KubeError): void {
    const { evictionRetryMs, evictionRetryMaxMs } = this.#reaping.config.termination;
    const delayMs = Math.min(evictionRetryMaxMs, (this.#refused.get(pod.uid)?.delayMs ?? evictionRetryMs / 2) * 2);
    const waitMs = Math.max(delayMs, Math.min(evictionRetryMaxMs, (error.retryAfterSeconds ?? 0) * 1000));
    this.#refused.set(pod.uid, { delayMs, untilMs: this.#reaping.deps.clock.nowMs() + waitMs });
  }

  async #force(pod: Pod, gracePeriodSeconds: number): Promise<void> {
    await this.#reaping.deps.kube.delete({ resource: kubeResources.pods, namespace: pod.namespace, name: pod.name }, { uid: pod.uid, gracePeriodSeconds });
    this.#reaping.events.write({ about: aboutPod(pod), type: 'Warning', reason: 'Disrupted', message: 'Deleting the pod to accommodate the terminationTime of the node. The pod was granted what is left of its grace period' });
  }

  #tellBlocked(node: Node, note: DisruptionNote): void {
    this.#reaping.events.write({ about: aboutNode(node), type: 'Warning', reason: 'FailedDraining', message: `Failed to drain node: ${note.message}` });
  }
}
