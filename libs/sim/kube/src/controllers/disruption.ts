import { lookUp } from '@dovetail/core-invariant';
import { recordOf } from '@dovetail/core-kube-model';

import {
  type Condition,
  controllerOf,
  isReady,
  isTerminal,
  type Pod,
  type PodDisruptionBudget,
  type StoredObject,
  timeText,
} from '../model/objects.js';
import { selectorTest } from '../model/selectors.js';
import { withCondition } from '../store/pod-actions.js';
import type { KubeStore } from '../store/store.js';
import { keyOf } from '../store/table.js';
import { type Controller, type ControllerContext, writeStatus } from './context.js';
import { countOf } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'poddisruptionbudgets.policy';
// DeletionTimeout of Kubernetes' disruption controller: an evicted pod that is still there after
// this time no longer counts as disrupted.
const disruptedForMs = 120_000;

/** Computes how many pods each PodDisruptionBudget allows to be evicted now. */
export function disruptionController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync(context, queue, key),
    onError: (key, error) => context.onError('disruption-controller', key, error),
  });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === table)
        queue.add(keyOf(change.object.metadata.namespace, change.object.metadata.name));
      else if (change.table === 'pods' || change.table.endsWith('.apps')) {
        for (const budget of store.state.table(table).values())
          if (budget.metadata.namespace === change.object.metadata.namespace)
            queue.add(keyOf(budget.metadata.namespace, budget.metadata.name));
      }
    },
  };
}

const plurals: Readonly<Record<string, string>> = {
  ReplicaSet: 'replicasets.apps',
  StatefulSet: 'statefulsets.apps',
  Deployment: 'deployments.apps',
};

/** The replicas that the pods' workloads want. Percentages and maxUnavailable refer to these. */
function expectedReplicas(store: KubeStore, pods: readonly Pod[]): number {
  const scales = new Map<string, number>();
  for (const pod of pods) {
    let owner: StoredObject | undefined = pod;
    let last: StoredObject | undefined;
    for (
      let controller = controllerOf(pod);
      controller !== undefined && lookUp(plurals, controller.kind) !== undefined;
      controller = owner === undefined ? undefined : controllerOf(owner)
    ) {
      owner = store.state
        .table(lookUp(plurals, controller.kind) as string)
        .get(keyOf(pod.metadata.namespace, controller.name));
      last = owner ?? last;
    }
    if (last !== undefined)
      scales.set(last.metadata.uid, Number(recordOf(last['spec'])['replicas'] ?? 1));
  }
  return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
}

/** Pods that were evicted and are still there, by name, with the time of their eviction. */
function disruptedPods(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  nowMs: number,
): ReadonlyMap<string, string> {
  const present = new Set(
    pods
      .filter((pod) => pod.metadata.deletionTimestamp === undefined)
      .map((pod) => pod.metadata.name),
  );
  return new Map(
    Object.entries(budget.status?.disruptedPods ?? {}).filter(
      ([name, since]) => present.has(name) && Date.parse(since) + disruptedForMs > nowMs,
    ),
  );
}

/** How many pods the budget counts on, and how many of them must stay healthy. */
function demandOf(
  store: KubeStore,
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
): { readonly expected: number; readonly desired: number } {
  const { minAvailable, maxUnavailable } = budget.spec;
  const percentage = typeof minAvailable === 'string' || maxUnavailable !== undefined;
  const expected = percentage ? expectedReplicas(store, pods) : pods.length;
  const desired =
    maxUnavailable === undefined
      ? countOf(minAvailable ?? 1, expected, 'up')
      : Math.max(0, expected - countOf(maxUnavailable, expected, 'up'));
  return { expected, desired };
}

const conditionFor = (budget: PodDisruptionBudget, allowed: number, nowMs: number): Condition => ({
  type: 'DisruptionAllowed',
  status: allowed > 0 ? 'True' : 'False',
  reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
  message: '',
  observedGeneration: budget.metadata.generation ?? 1,
  lastTransitionTime: timeText(nowMs),
});

function sync(context: ControllerContext, queue: WorkQueue, key: string): void {
  const { store } = context;
  const budget = store.state.table(table).get(key) as PodDisruptionBudget | undefined;
  if (budget === undefined) return;
  const matches = selectorTest(budget.spec.selector);
  const pods = ([...store.state.table('pods').values()] as Pod[]).filter(
    (pod) =>
      pod.metadata.namespace === budget.metadata.namespace &&
      !isTerminal(pod) &&
      matches(pod.metadata.labels),
  );
  const nowMs = store.clock.nowMs();
  const disrupted = disruptedPods(budget, pods, nowMs);
  if (disrupted.size > 0) queue.addAfter(key, disruptedForMs);
  const currentHealthy = pods.filter(
    (pod) =>
      isReady(pod) &&
      pod.metadata.deletionTimestamp === undefined &&
      !disrupted.has(pod.metadata.name),
  ).length;
  const { expected, desired } = demandOf(store, budget, pods);
  const allowed = expected <= 0 ? 0 : Math.max(0, currentHealthy - desired);
  writeStatus(store, store.type('policy', 'v1', 'poddisruptionbudgets'), budget, {
    observedGeneration: budget.metadata.generation,
    ...(disrupted.size === 0 ? {} : { disruptedPods: Object.fromEntries(disrupted) }),
    disruptionsAllowed: allowed,
    currentHealthy,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: withCondition(budget.status?.conditions, conditionFor(budget, allowed, nowMs)),
  });
}
