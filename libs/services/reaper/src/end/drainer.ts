import type { DisruptionNote, DrainPlan } from '@dovetail/core-disruption';
import type { Node, Pod } from '@dovetail/core-kube-model';
import { KubeError, kubeResources } from '@dovetail/core-ports';
import { aboutNode, aboutPod } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { kubeBy } from '../deps.js';

/** Why a node is drained, as Events say it, and by when, if that is given. */
type Drain = { readonly reason: string; readonly deadlineMs: number | undefined };

/** When a pod is asked to go again, and the wait before that. */
type Wait = { readonly untilMs: number; readonly delayMs: number };

/**
 * Carries out one step of draining: evictions through the API that asks the disruption budgets,
 * deletions where the deadline is near.
 */
export class Drainer {
  readonly #context: Pick<ReaperContext, 'deps' | 'config' | 'events'>;
  /**
   * Pods that were asked to go, by UID. One whose eviction was refused is asked again at its own
   * pace. One that was evicted is asked again if the watch does not show that it ends.
   */
  readonly #asked = new Map<string, Wait>();

  /** Pods that were deleted, by UID, and when each is deleted again if the watch shows no end. */
  readonly #forced = new Map<string, number>();
  /** Pods that are counted as drained: one that was evicted may be deleted later. */
  readonly #counted = new Set<string>();

  constructor(context: Pick<ReaperContext, 'deps' | 'config' | 'events'>) {
    this.#context = context;
  }

  /** Does one step. */
  async step(node: Node, plan: DrainPlan, drain: Drain): Promise<void> {
    const nowMs = this.#context.deps.clock.nowMs();
    const due = plan.evict.filter((pod) => (this.#asked.get(pod.uid)?.untilMs ?? 0) <= nowMs);
    await Promise.all([
      ...due.map((pod) => this.#evict(node, pod, drain)),
      ...plan.force
        .filter(({ pod }) => (this.#forced.get(pod.uid) ?? 0) <= nowMs)
        .map((one) => this.#force(one, drain.reason)),
    ]);
    for (const note of plan.waitingFor.flatMap((waiting) => waiting.note ?? []))
      this.#recordBlocked(node, note);
  }

  /** Forgets the pods that are gone. */
  forget(podExists: (uid: string) => boolean): void {
    for (const held of [this.#asked, this.#forced, this.#counted])
      for (const uid of held.keys()) if (!podExists(uid)) held.delete(uid);
  }

  async #evict(node: Node, pod: Pod, { reason, deadlineMs }: Drain): Promise<void> {
    const { deps } = this.#context;
    const { metrics } = deps;
    const { namespace, name, uid } = pod;
    try {
      const outcome = await kubeBy(deps, deadlineMs).evict({ namespace, name, uid });
      this.#asked.set(uid, this.#untilSeen());
      const code = outcome === 'evicted' ? '201' : '404';
      metrics.count('karpenter_pods_eviction_requests_total', { code });
      if (outcome === 'evicted') this.#recordEvicted(pod, reason);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.#refuse(node, pod, error);
    }
  }

  #untilSeen(): Wait {
    const { deps, config } = this.#context;
    const { evictionRetryMs, evictionRetryMaxMs } = config.termination;
    return { untilMs: deps.clock.nowMs() + evictionRetryMaxMs, delayMs: evictionRetryMs / 2 };
  }

  #countDrained({ uid }: Pod, reason: string): void {
    if (this.#counted.has(uid)) return;
    this.#counted.add(uid);
    this.#context.deps.metrics.count('karpenter_pods_drained_total', { reason });
  }

  #recordEvicted(pod: Pod, reason: string): void {
    this.#countDrained(pod, reason);
    this.#context.events.record({
      about: aboutPod(pod),
      type: 'Normal',
      reason: 'Evicted',
      message: `Evicted pod: ${reason}`,
    });
  }

  #refuse(node: Node, pod: Pod, error: KubeError): void {
    const code = error.code === 'too-many-requests' ? '429' : error.code;
    this.#context.deps.metrics.count('karpenter_pods_eviction_requests_total', { code });
    this.#putOff(pod, error);
    this.#context.events.record({
      about: aboutNode(node),
      type: 'Warning',
      reason: 'FailedDraining',
      message: `Failed to drain node: evicting pod ${pod.namespace}/${pod.name} was refused: ${error.message}`,
    });
  }

  #putOff(pod: Pod, error: KubeError): void {
    const { evictionRetryMs, evictionRetryMaxMs } = this.#context.config.termination;
    const lastMs = this.#asked.get(pod.uid)?.delayMs ?? evictionRetryMs / 2;
    const delayMs = Math.min(evictionRetryMaxMs, lastMs * 2);
    const askedMs = Math.min(evictionRetryMaxMs, (error.retryAfterSeconds ?? 0) * 1_000);
    const untilMs = this.#context.deps.clock.nowMs() + Math.max(delayMs, askedMs);
    this.#asked.set(pod.uid, { delayMs, untilMs });
  }

  async #force(
    { pod, gracePeriodSeconds }: DrainPlan['force'][number],
    reason: string,
  ): Promise<void> {
    const { namespace, name, uid } = pod;
    const { kube, urgentKube = kube } = this.#context.deps;
    await urgentKube.delete(
      { resource: kubeResources.pods, namespace, name },
      { uid, gracePeriodSeconds },
    );
    this.#forced.set(uid, this.#untilSeen().untilMs);
    this.#countDrained(pod, reason);
    this.#context.events.record({
      about: aboutPod(pod),
      type: 'Warning',
      reason: 'Disrupted',
      message:
        'Deleting the pod to accommodate the terminationTime of the node. The pod was granted what is left of its grace period',
    });
  }

  #recordBlocked(node: Node, note: DisruptionNote): void {
    this.#context.events.record({
      about: aboutNode(node),
      type: 'Warning',
      reason: 'FailedDraining',
      message: `Failed to drain node: ${note.message}`,
    });
  }
}
