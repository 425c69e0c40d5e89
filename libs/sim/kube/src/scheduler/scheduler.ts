import { compareText, isRecord } from '@dovetail/core-kube-model';

import { randomFrom } from '../ambient/random.js';
import { equalJson } from '../model/json.js';
import { isTerminal, type Node, type Pod, timeText } from '../model/objects.js';
import type { EventRecorder } from '../store/event-recorder.js';
import { withCondition } from '../store/pod-actions.js';
import type { KubeStore } from '../store/store.js';
import { type Change, keyOf } from '../store/table.js';
import { ClusterCache, type NodeInfo } from './cache.js';
import {
  lacksTemplate,
  mayHelp,
  type PodState,
  podState,
  type Refusal,
  refusalOf,
  unschedulableMessage,
} from './filters.js';
import { bestNode } from './score.js';
import { reserve } from './static-volumes.js';
import { volumesAt } from './volumes.js';

/** How the scheduler stand-in works. */
export type SchedulerOptions = {
  readonly store: KubeStore;
  readonly recorder: EventRecorder;
  readonly seed: number;
  /** Pods that name another scheduler are left alone. Default `default-scheduler`. */
  readonly schedulerName?: string;
};

const podsPerTurn = 25;
const backoffFirstMs = 1_000;
const backoffMaxMs = 10_000;
const component = 'default-scheduler';

/** `due`: a change may let the pod in, and only its back-off remains. */
type Parked = { readonly attempts: number; readonly sinceMs: number; due: boolean };

/**
 * A stand-in for kube-scheduler. It filters and scores as kube-scheduler does, one pod at a time,
 * highest priority first, then oldest first. A pod that fits nowhere gets a condition and an Event,
 * and is tried again when the cluster changes. It never preempts.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #cache: ClusterCache;
  readonly #random: () => number;
  readonly #active = new Set<string>();
  readonly #parked = new Map<string, Parked>();
  readonly #unsubscribe: () => void;
  #running = false;
  #stopped = false;
  #wakeAtMs = Infinity;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#cache = new ClusterCache(options.store);
    this.#random = randomFrom(options.seed);
    for (const pod of options.store.state.table('pods').values()) this.#consider(pod as Pod);
    this.#unsubscribe = options.store.subscribe((change) => this.#heard(change));
  }

  stop(): void {
    this.#stopped = true;
    this.#unsubscribe();
  }

  #heard(change: Change): void {
    switch (change.table) {
      case 'pods':
        return this.#heardPod(change);
      case 'nodes':
        return this.#heardNode(change);
      case 'persistentvolumeclaims':
      case 'persistentvolumes':
      case 'storageclasses.storage.k8s.io':
      case 'namespaces':
        return this.#retryParked();
      default:
        return;
    }
  }

  #heardPod(change: Change): void {
    const pod = change.object as Pod;
    const before = change.before as Pod | undefined;
    const key = keyOf(pod.metadata.namespace, pod.metadata.name);
    const wasPlaced = (before?.spec.nodeName ?? '') !== '';
    if (change.kind === 'deleted') {
      this.#cache.removePod(pod);
      this.#active.delete(key);
      this.#parked.delete(key);
      if (wasPlaced) this.#retryParked();
      return;
    }
    this.#cache.setPod(pod, before);
    if ((pod.spec.nodeName ?? '') === '') {
      if (
        before === undefined ||
        !equalJson(before.spec, pod.spec) ||
        !equalJson(before.metadata.labels, pod.metadata.labels)
      )
        this.#consider(pod);
      return;
    }
    this.#active.delete(key);
    this.#parked.delete(key);
    const matters =
      !wasPlaced ||
      (isTerminal(pod) && before !== undefined && !isTerminal(before)) ||
      !equalJson(before?.metadata.labels, pod.metadata.labels);
    if (matters) this.#retryParked();
  }

  #heardNode(change: Change): void {
    const node = change.object as Node;
    if (change.kind === 'deleted') return this.#cache.removeNode(node);
    this.#cache.setNode(node);
    const before = change.before as Node | undefined;
    // Heartbeats change nothing that a filter reads.
    const same =
      before !== undefined &&
      equalJson(before.spec, node.spec) &&
      equalJson(before.metadata.labels, node.metadata.labels) &&
      equalJson(before.status?.allocatable, node.status?.allocatable);
    const info = this.#cache.node(node.metadata.name);
    if (!same && info !== undefined) this.#retryParked((pod) => mayHelp(pod, info));
  }

  #consider(pod: Pod): void {
    const ours = pod.spec.schedulerName === (this.#options.schedulerName ?? component);
    if (
      !ours ||
      (pod.spec.nodeName ?? '') !== '' ||
      isTerminal(pod) ||
      pod.metadata.deletionTimestamp !== undefined
    )
      return;
    if ((pod.spec.schedulingGates ?? []).length > 0 || lacksTemplate(pod)) return;
    this.#activate(keyOf(pod.metadata.namespace, pod.metadata.name));
  }

  #activate(key: string): void {
    if (this.#stopped) return;
    this.#active.add(key);
    if (this.#running) return;
    this.#running = true;
    this.#options.store.clock.soon(() => this.#turn());
  }

  /** Something changed: tries pods whose back-off is over now, and the others when theirs ends. */
  #retryParked(helps: (pod: Pod) => boolean = () => true): void {
    const { store } = this.#options;
    const now = store.clock.nowMs();
    let nextMs = Infinity;
    for (const [key, parked] of this.#parked) {
      const pod = store.state.table('pods').get(key) as Pod | undefined;
      if (!parked.due && (pod === undefined || !helps(pod))) continue;
      parked.due = true;
      const dueMs =
        parked.sinceMs + Math.min(backoffMaxMs, backoffFirstMs * 2 ** (parked.attempts - 1));
      if (dueMs <= now) this.#activate(key);
      else nextMs = Math.min(nextMs, dueMs);
    }
    if (nextMs >= this.#wakeAtMs) return;
    this.#wakeAtMs = nextMs;
    this.#options.store.clock.after(nextMs - now, () => {
      this.#wakeAtMs = Infinity;
      this.#retryParked(() => false);
    });
  }

  #nextPods(): readonly Pod[] {
    const table = this.#options.store.state.table('pods');
    const pods = [...this.#active]
      .map((key) => table.get(key) as Pod | undefined)
      .filter((pod): pod is Pod => pod !== undefined);
    const order = (left: Pod, right: Pod): number =>
      (right.spec.priority ?? 0) - (left.spec.priority ?? 0) ||
      compareText(left.metadata.creationTimestamp, right.metadata.creationTimestamp) ||
      Number(left.metadata.resourceVersion) - Number(right.metadata.resourceVersion);
    return pods.sort(order).slice(0, podsPerTurn);
  }

  #turn(): void {
    if (this.#stopped) return;
    const pods = this.#nextPods();
    if (pods.length === 0) this.#active.clear();
    for (const pod of pods) {
      this.#active.delete(keyOf(pod.metadata.namespace, pod.metadata.name));
      this.#schedule(pod);
    }
    this.#running = this.#active.size > 0;
    if (this.#running) this.#options.store.clock.soon(() => this.#turn());
  }

  #schedule(pod: Pod): void {
    const nodes = this.#cache.nodes();
    const state = podState(this.#options.store, pod, nodes);
    if (state.volumes.problem !== undefined)
      return this.#park(
        pod,
        `0/${nodes.length} nodes are available: ${state.volumes.problem}. no new claims to deallocate, preemption: 0/${nodes.length} nodes are available: ${nodes.length} Preemption is not helpful for scheduling.`,
      );
    const refusals: Refusal[] = [];
    const fitting: NodeInfo[] = [];
    for (const node of nodes) {
      const refused = refusalOf(state, node);
      if (refused === undefined) fitting.push(node);
      else refusals.push(refused);
    }
    if (fitting.length === 0) return this.#park(pod, unschedulableMessage(refusals));
    const chosen = bestNode(
      { store: this.#options.store, random: this.#random },
      state,
      fitting,
      nodes,
    );
    if (state.volumes.waiting.length > 0) return this.#provisionAt(pod, state, chosen);
    this.#bind(pod, chosen.name);
  }

  #bind(pod: Pod, nodeName: string): void {
    const { store, recorder } = this.#options;
    const { namespace = '', name, uid } = pod.metadata;
    store.bind({ namespace, name, uid }, nodeName);
    recorder.record(pod, {
      type: 'Normal',
      reason: 'Scheduled',
      message: `Successfully assigned ${namespace}/${name} to ${nodeName}`,
      component,
    });
  }

  /**
   * Binds the volumes that wait for their first consumer at the chosen node, or has them
   * provisioned there. The pod is then tried again.
   */
  #provisionAt(pod: Pod, state: PodState, node: NodeInfo): void {
    const { store } = this.#options;
    const key = keyOf(pod.metadata.namespace, pod.metadata.name);
    this.#parked.set(key, { attempts: 0, sinceMs: 0, due: false });
    for (const { claim, volume } of volumesAt(state.volumes, node) ?? []) {
      if (volume !== undefined) reserve(store, volume.object, claim);
      else
        store.patch(store.type('', 'v1', 'persistentvolumeclaims'), {
          ...claim.metadata,
          patch: {
            type: 'merge',
            body: {
              metadata: { annotations: { 'volume.kubernetes.io/selected-node': node.name } },
            },
          },
        });
    }
  }

  #park(pod: Pod, message: string): void {
    const { store, recorder } = this.#options;
    const { namespace, name } = pod.metadata;
    const key = keyOf(namespace, name);
    const attempts = (this.#parked.get(key)?.attempts ?? 0) + 1;
    this.#parked.set(key, { attempts, sinceMs: store.clock.nowMs(), due: false });
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastProbeTime: null,
      lastTransitionTime: timeText(store.clock.nowMs()),
    };
    const known = pod.status?.conditions?.find((one) => one.type === 'PodScheduled');
    if (
      known?.status !== 'False' ||
      known.message !== message ||
      known.reason !== 'Unschedulable'
    ) {
      store.update(
        store.type('', 'v1', 'pods'),
        {
          namespace,
          name,
          object: {
            ...pod,
            status: {
              ...(isRecord(pod.status) ? pod.status : {}),
              conditions: withCondition(pod.status?.conditions, condition),
            },
          },
        },
        { subresource: 'status' },
      );
    }
    recorder.record(pod, { type: 'Warning', reason: 'FailedScheduling', message, component });
  }
}
