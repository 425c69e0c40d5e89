import { lookUp } from '@dovetail/core-invariant';

import { controllerOf, type Pod, timeText, type Workload } from '../model/objects.js';
import { selectorTest } from '../model/selectors.js';
import { keyOf } from '../store/table.js';
import {
  type Controller,
  type ControllerContext,
  createPod,
  deletePod,
  ownedBy,
  podsType,
  writeStatus,
} from './context.js';
import { activePods, endFirst, isAvailable } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'replicasets.apps';
const component = 'replicaset-controller';

/** Keeps the number of a ReplicaSet's pods; orphans that its selector matches become its own. */
export function replicaSetController(context: ControllerContext): Controller {
  const { store } = context;
  const queue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync(context, queue, key),
    onError: (key, error) => context.onError(component, key, error),
  });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      const { namespace, name } = change.object.metadata;
      if (change.table === table) return queue.add(keyOf(namespace, name));
      if (change.table !== 'pods') return;
      const owner = controllerOf(change.object);
      if (owner?.kind === 'ReplicaSet') queue.add(keyOf(namespace, owner.name));
      else if (owner === undefined && change.kind !== 'deleted')
        adoptLater(context, queue, change.object as Pod);
    },
  };
}

function adoptLater(context: ControllerContext, queue: WorkQueue, pod: Pod): void {
  for (const object of context.store.state.table(table).values()) {
    const set = object as Workload;
    if (
      set.metadata.namespace === pod.metadata.namespace &&
      selectorTest(set.spec.selector)(pod.metadata.labels)
    )
      queue.add(keyOf(set.metadata.namespace, set.metadata.name));
  }
}

function adopt(context: ControllerContext, set: Workload): void {
  const { store } = context;
  if (set.metadata.deletionTimestamp !== undefined) return;
  for (const object of context.podsByOwner.get('')) {
    if (
      object.metadata.namespace !== set.metadata.namespace ||
      object.metadata.deletionTimestamp !== undefined ||
      !selectorTest(set.spec.selector)(object.metadata.labels)
    )
      continue;
    store.patch(podsType(store), {
      ...object.metadata,
      patch: {
        type: 'merge',
        body: {
          metadata: { ownerReferences: [...(object.metadata.ownerReferences ?? []), ownedBy(set)] },
        },
      },
    });
  }
}

function sync(context: ControllerContext, queue: WorkQueue, key: string): void {
  const { store } = context;
  const set = store.state.table(table).get(key) as Workload | undefined;
  if (set === undefined) return;
  adopt(context, set);
  const failure = set.metadata.deletionTimestamp === undefined ? scale(context, set) : undefined;
  report(context, queue, set, failure);
  if (failure !== undefined) throw failure;
}

function scale(context: ControllerContext, set: Workload): Error | undefined {
  const active = activePods(context.podsByOwner.get(set.metadata.uid) as readonly Pod[]);
  const difference = (set.spec.replicas ?? 1) - active.length;
  // Every change of a pod leads here, so the order is only found when pods are to go.
  if (difference < 0)
    for (const pod of endFirst(active).slice(0, -difference))
      deletePod(context, set, pod, component);
  for (let made = 0; made < difference; made += 1) {
    try {
      createPod(context, set, set.spec.template, { component });
    } catch (thrown) {
      return thrown instanceof Error ? thrown : new Error(String(thrown));
    }
  }
  return undefined;
}

/** Counts that are zero are left out of the status, as Kubernetes does. */
const count = (field: string, value: number): object => (value === 0 ? {} : { [field]: value });

function fullyLabeled(set: Workload, pods: readonly Pod[]): number {
  const labels = Object.entries(set.spec.template.metadata?.labels ?? {});
  return pods.filter((pod) =>
    labels.every(([label, value]) => lookUp(pod.metadata.labels, label) === value),
  ).length;
}

/** The failure condition. A known failure is kept as it was: each attempt names another pod. */
function failureOf(current: Workload, failure: Error | undefined, nowMs: number): object {
  if (failure === undefined) return {};
  const before = (current.status?.['conditions'] ?? []) as readonly object[];
  if (before.length > 0) return { conditions: before };
  return {
    conditions: [
      {
        type: 'ReplicaFailure',
        status: 'True',
        reason: 'FailedCreate',
        message: failure.message,
        lastTransitionTime: timeText(nowMs),
      },
    ],
  };
}

function report(
  context: ControllerContext,
  queue: WorkQueue,
  set: Workload,
  failure: Error | undefined,
): void {
  const { store } = context;
  const nowMs = store.clock.nowMs();
  const key = keyOf(set.metadata.namespace, set.metadata.name);
  const current = store.state.table(table).get(key) as Workload | undefined;
  if (current === undefined) return;
  const pods = activePods(context.podsByOwner.get(set.metadata.uid) as readonly Pod[]);
  const seconds = set.spec.minReadySeconds ?? 0;
  const ready = pods.filter((pod) => isAvailable(pod, 0, nowMs)).length;
  const available = pods.filter((pod) => isAvailable(pod, seconds, nowMs)).length;
  if (ready > available) queue.addAfter(key, 1000);
  writeStatus(store, store.type('apps', 'v1', 'replicasets'), current, {
    replicas: pods.length,
    ...count('fullyLabeledReplicas', fullyLabeled(set, pods)),
    ...count('readyReplicas', ready),
    ...count('availableReplicas', available),
    observedGeneration: current.metadata.generation,
    ...failureOf(current, failure, nowMs),
  });
}
