import { recordOf } from '../json.js';
import { timeText, type Condition, type Workload } from '../model.js';
import { keyOf } from '../store/table.js';
import { writeStatus, type ControllerContext } from './context.js';
import { countOf } from './pod-groups.js';
import type { WorkQueue } from './work-queue.js';

type Rollout = { readonly current: Workload | undefined; readonly sets: readonly Workload[] };

const number = (set: Workload | undefined, field: string): number => Number(set?.status?.[field] ?? 0);

function withCondition(conditions: readonly Condition[], condition: Condition, now: string): readonly Condition[] {
  const before = conditions.find((one) => one.type === condition.type);
  if (before !== undefined && before.status === condition.status && before.reason === condition.reason && before.message === condition.message) return conditions;
  const lastTransitionTime = before !== undefined && before.status === condition.status ? before.lastTransitionTime : now;
  const next = { ...condition, lastUpdateTime: now, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) };
  return before === undefined ? [...conditions, next] : conditions.map((one) => (one === before ? next : one));
}

function progress(deployment: Workload, { current, sets }: Rollout, stalled: boolean): Condition {
  const wanted = deployment.spec.replicas ?? 1;
  const total = sets.reduce((sum, set) => sum + number(set, 'replicas'), 0);
  const name = current?.metadata.name ?? '';
  const complete = current !== undefined && number(current, 'replicas') === wanted && total === wanted && number(current, 'availableReplicas') === wanted;
  const known = ((deployment.status?.['conditions'] ?? []) as readonly Condition[]).find((one) => one.type === 'Progressing');
  // A finished rollout stays finished while pods come and go under the same ReplicaSet.
  if (complete || (known?.reason === 'NewReplicaSetAvailable' && known.message?.includes(`"${name}"`) === true)) {
    return { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: `ReplicaSet "${name}" has successfully progressed.` };
  }
  if (stalled) return { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: `ReplicaSet "${name}" has timed out progressing.` };
  return { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message: `ReplicaSet "${name}" is progressing.` };
}

/** Whether nothing has moved for as long as the deadline allows; looks again when it will be over. */
function isStalled(context: ControllerContext, queue: WorkQueue, deployment: Workload, moved: boolean): boolean {
  const known = ((deployment.status?.['conditions'] ?? []) as readonly Condition[]).find((one) => one.type === 'Progressing');
  const deadlineMs = Number(deployment.spec['progressDeadlineSeconds'] ?? 600) * 1000;
  if (known === undefined || moved || known.reason === 'NewReplicaSetAvailable') return false;
  if (known.reason === 'ProgressDeadlineExceeded') return true;
  const leftMs = Date.parse(known.lastUpdateTime ?? '') + deadlineMs - context.store.clock.nowMs();
  if (leftMs > 0) queue.addAfter(keyOf(deployment.metadata.namespace, deployment.metadata.name), leftMs);
  return leftMs <= 0;
}

/** Writes a Deployment's counts and conditions, which `kubectl rollout status` reads. */
export function reportDeployment(context: ControllerContext, queue: WorkQueue, old: Workload, rollout: Rollout): void {
  const { store } = context;
  const deployment = store.state.table('deployments.apps').get(keyOf(old.metadata.namespace, old.metadata.name)) as Workload | undefined;
  if (deployment === undefined) return;
  const sum = (field: string): number => rollout.sets.reduce((total, set) => total + number(set, field), 0);
  const wanted = deployment.spec.replicas ?? 1;
  const counts = { replicas: sum('replicas'), updatedReplicas: number(rollout.current, 'replicas'), readyReplicas: sum('readyReplicas'), availableReplicas: sum('availableReplicas') };
  const unavailable = Math.max(0, Math.max(wanted, counts.replicas) - counts.availableReplicas);
  const rolling = recordOf(recordOf(deployment.spec['strategy'])['rollingUpdate']);
  const least = wanted - countOf(rolling['maxUnavailable'], wanted, 'down');
  const now = timeText(store.clock.nowMs());
  const enough = counts.availableReplicas >= least;
  const availability: Condition = enough
    ? { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : { type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', message: 'Deployment does not have minimum availability.' };
  const moved = Object.entries(counts).some(([field, value]) => Number(deployment.status?.[field] ?? 0) !== value);
  const failure = rollout.current?.status?.['conditions'] as readonly Condition[] | undefined;
  let conditions: readonly Condition[] = ((deployment.status?.['conditions'] ?? []) as readonly Condition[]).filter((one) => one.type !== 'ReplicaFailure' || failure !== undefined);
  conditions = withCondition(conditions, availability, now);
  conditions = withCondition(conditions, progress(deployment, rollout, isStalled(context, queue, deployment, moved)), now);
  for (const { type, status, reason, message } of failure ?? []) conditions = withCondition(conditions, { type, status, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) }, now);
  if (moved) conditions = conditions.map((one) => (one.type === 'Progressing' && one.reason === 'ReplicaSetUpdated' ? { ...one, lastUpdateTime: now } : one));
  const present = Object.fromEntries(Object.entries({ ...counts, unavailableReplicas: unavailable }).filter(([, value]) => value > 0));
  writeStatus(store, store.type('apps', 'v1', 'deployments'), deployment, { observedGeneration: deployment.metadata.generation, ...present, conditions });
}
