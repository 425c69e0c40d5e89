import { badRequest, conflict, StatusError } from '../model/errors.js';
import {
  type Condition,
  isReady,
  isTerminal,
  type Pod,
  type PodDisruptionBudget,
  timeText,
} from '../model/objects.js';
import { selectorTest } from '../model/selectors.js';
import { readStored } from './access.js';
import type { ResourceType } from './registry.js';
import { removeObject, type RemoveOptions } from './remove.js';
import type { StoreState } from './state.js';
import { commitUpdate } from './write.js';

type PodRef = { readonly namespace: string; readonly name: string };

const podsType = (state: StoreState): ResourceType =>
  state.registry.find('', 'v1', 'pods') as ResourceType;

/** The conditions with one of them set. Its transition time moves only when its status does. */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  condition: Condition,
): readonly Condition[] {
  const before = conditions?.find((one) => one.type === condition.type);
  const stamped =
    before !== undefined &&
    before.status === condition.status &&
    before.lastTransitionTime !== undefined
      ? { ...condition, lastTransitionTime: before.lastTransitionTime }
      : condition;
  if (before === undefined) return [...(conditions ?? []), stamped];
  return (conditions ?? []).map((one) => (one.type === condition.type ? stamped : one));
}

function guardUid(type: ResourceType, pod: Pod, uid: string | undefined): void {
  const found = pod.metadata.uid;
  if (uid !== undefined && uid !== found)
    throw conflict(
      type,
      pod.metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
    );
}

const binding = { group: '', plural: 'pods/binding', kind: 'Binding' };

/** Throws the conflict that keeps a pod from being bound, if there is one. */
function guardBinding(pod: Pod): void {
  const { name, deletionTimestamp } = pod.metadata;
  const refuse = (why: string): StatusError => conflict(binding, name, `pod ${name} ${why}`);
  if (deletionTimestamp !== undefined)
    throw refuse('is being deleted, cannot be assigned to a host');
  if ((pod.spec.nodeName ?? '') !== '')
    throw refuse(`is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
  if ((pod.spec.schedulingGates ?? []).length > 0)
    throw refuse('has non-empty .spec.schedulingGates');
}

/**
 * The Binding subresource: assigns a pod to a node, once. Throws 409 when the pod is bound already,
 * is being deleted, has scheduling gates, or has another uid than `pod.uid`.
 */
export function bindPod(
  state: StoreState,
  pod: PodRef & { readonly uid?: string | undefined },
  nodeName: string,
): void {
  const type = podsType(state);
  const before = readStored(state, type, pod) as Pod;
  if (nodeName === '') throw badRequest('target.name: Required value');
  guardUid(type, before, pod.uid);
  guardBinding(before);
  const conditions = withCondition(before.status?.conditions, {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timeText(state.clock.nowMs()),
  });
  commitUpdate(state, type, before, {
    ...before,
    spec: { ...before.spec, nodeName },
    status: { ...before.status, conditions },
  });
}

function budgetsOf(state: StoreState, pod: Pod): readonly PodDisruptionBudget[] {
  return ([...state.table('poddisruptionbudgets.policy').values()] as PodDisruptionBudget[]).filter(
    (budget) =>
      budget.metadata.namespace === pod.metadata.namespace &&
      budget.spec.selector !== undefined &&
      selectorTest(budget.spec.selector)(pod.metadata.labels),
  );
}

function refused(budget: PodDisruptionBudget, why: string, retryAfterSeconds: number): StatusError {
  return new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: 'DisruptionBudget', message: why }],
      ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}),
    },
  });
}

function spendBudget(state: StoreState, pod: Pod, budget: PodDisruptionBudget): void {
  const name = budget.metadata.name;
  const status = budget.status ?? {};
  if ((status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0))
    throw refused(
      budget,
      `The disruption budget ${name} is still being processed by the server.`,
      10,
    );
  const allowed = status.disruptionsAllowed ?? 0;
  if (allowed <= 0)
    throw refused(
      budget,
      `The disruption budget ${name} needs ${status.desiredHealthy ?? 0} healthy pods and has ${status.currentHealthy ?? 0} currently`,
      0,
    );
  const disruptedPods = {
    ...status.disruptedPods,
    [pod.metadata.name]: timeText(state.clock.nowMs()),
  };
  const type = state.registry.find('policy', 'v1', 'poddisruptionbudgets') as ResourceType;
  commitUpdate(state, type, budget, {
    ...budget,
    status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods },
  });
}

/** True for an unhealthy pod that may go without spending its budget, by the budget's policy. */
function isFree(pod: Pod, budget: PodDisruptionBudget): boolean {
  if (isReady(pod)) return false;
  if (budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

/**
 * The Eviction subresource: deletes the pod if its disruption budget allows it. Throws 429 when the
 * budget forbids it, and 500 when two budgets cover the pod.
 */
export function evictPod(state: StoreState, ref: PodRef, options: RemoveOptions): void {
  const type = podsType(state);
  const pod = readStored(state, type, ref) as Pod;
  guardUid(type, pod, options.uid);
  const asks =
    !isTerminal(pod) &&
    pod.status?.phase !== 'Pending' &&
    pod.metadata.deletionTimestamp === undefined;
  const budgets = asks ? budgetsOf(state, pod) : [];
  if (budgets.length > 1)
    throw new StatusError({
      code: 500,
      reason: 'InternalError',
      message:
        'Internal error occurred: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    });
  const [budget] = budgets;
  if (budget !== undefined && !isFree(pod, budget) && options.dryRun !== true)
    spendBudget(state, pod, budget);
  const marked =
    asks && options.dryRun !== true
      ? withCondition(pod.status?.conditions, {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'EvictionByEvictionAPI',
          message: 'Eviction API: evicting',
          lastTransitionTime: timeText(state.clock.nowMs()),
        })
      : undefined;
  if (marked !== undefined)
    commitUpdate(state, type, pod, { ...pod, status: { ...pod.status, conditions: marked } });
  removeObject(state, type, ref, options);
}
