import { lookUp } from '@dovetail/core-invariant';
import { recordOf } from '@dovetail/core-kube-model';

import { type Condition, timeText, type Workload } from '../model/objects.js';
import { keyOf } from '../store/table.js';
import { type ControllerContext, writeStatus } from './context.js';
import { countOf } from './pod-groups.js';
import type { WorkQueue } from './work-queue.js';

type Rollout = { readonly current: Workload | undefined; readonly sets: readonly Workload[] };

const number = (set: Workload | undefined, field: string): number =>
  Number(lookUp(set?.status, field) ?? 0);

function withCondition(
  conditions: readonly Condition[],
  condition: Condition,
  now: string,
): readonly Condition[] {
  const before = conditions.find((one) => one.type === condition.type);
  if (
    before !== undefined &&
    before.status === condition.status &&
    before.reason === condition.reason &&
    before.message === condition.message
  )
    return conditions;
  const lastTransitionTime =
    before !== undefined && before.status === condition.status ? before.lastTransitionTime : now;
  const next = {
    ...condition,
    lastUpdateTime: now,
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
  return before === undefined
    ? [...conditions, next]
    : conditions.map((one) => (one === before ? next : one));
}

function progress(deployment: Workload, { current, sets }: Rollout, stalled: boolean): Condition {
  const wanted = deployment.spec.replicas ?? 1;
  const total = sets.reduce((sum, set) => sum + number(set, 'replicas'), 0);
  const name = current?.metadata.name ?? '';
  const complete =
    current !== undefined &&
    number(current, 'replicas') === wanted &&
    total === wanted &&
    number(current, 'availableReplicas') === wanted;
  const known = ((deployment.status?.['conditions'] ?? []) as readonly Condition[]).find(
    (one) => one.type === 'Progressing',
  );
  // A finished rollout stays finished while pods come and go under the same ReplicaSet.
  if (
    complete ||
    (known?.reason === 'NewReplicaSetAvailable' && known.message?.includes(`"${name}"`) === true)
  ) {
    return {
      type: 'Progressing',
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `ReplicaSet "${name}" has successfully progressed.`,
    };
  }
  if (stalled)
    return {
      type: 'Progressing',
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `ReplicaSet "${name}" has timed out progressing.`,
    };
  return {
    type: 'Progressing',
    status: 'True',
    reason: 'ReplicaSetUpdated',
    message: `ReplicaSet "${name}" is progressing.`,
  };
}

/** True when nothing moved for the progress deadline. Otherwise plans a look for when it ends. */
function isStalled(
  context: ControllerContext,
  queue: WorkQueue,
  deployment: Workload,
  moved: boolean,
): boolean {
  const known = ((deployment.status?.['conditions'] ?? []) as readonly Condition[]).find(
    (one) => one.type === 'Progressing',
  );
  const deadlineMs = Number(deployment.spec['progressDeadlineSeconds'] ?? 600) * 1000;
  if (known === undefined || moved || known.reason === 'NewReplicaSetAvailable') return false;
  if (known.reason === 'ProgressDeadlineExceeded') return true;
  const leftMs = Date.parse(known.lastUpdateTime ?? '') + deadlineMs - context.store.clock.nowMs();
  if (leftMs > 0)
    queue.addAfter(keyOf(deployment.metadata.namespace, deployment.metadata.name), leftMs);
  return leftMs <= 0;
}

/** The counts of a Deployment's status, summed over its ReplicaSets. */
type Counts = {
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
};

function countsOf(rollout: Rollout): Counts {
  const sum = (field: string): number =>
    rollout.sets.reduce((total, set) => total + number(set, field), 0);
  return {
    replicas: sum('replicas'),
    updatedReplicas: number(rollout.current, 'replicas'),
    readyReplicas: sum('readyReplicas'),
    availableReplicas: sum('availableReplicas'),
  };
}

const conditionsOf = (object: Workload): readonly Condition[] =>
  (object.status?.['conditions'] ?? []) as readonly Condition[];

function availabilityOf(deployment: Workload, counts: Counts): Condition {
  const wanted = deployment.spec.replicas ?? 1;
  const rolling = recordOf(recordOf(deployment.spec['strategy'])['rollingUpdate']);
  const least = wanted - countOf(rolling['maxUnavailable'], wanted, 'down');
  return counts.availableReplicas >= least
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
}

/** A condition of the ReplicaSet as the Deployment repeats it, without its times. */
const repeated = ({ type, status, reason, message }: Condition): Condition => ({
  type,
  status,
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});

/** The Deployment's conditions after this look at its ReplicaSets. `moved`: a count has changed. */
function nextConditions(
  deployment: Workload,
  { current }: Rollout,
  found: { readonly availability: Condition; readonly progress: Condition },
  at: { readonly moved: boolean; readonly now: string },
): readonly Condition[] {
  const failure = current?.status?.['conditions'] as readonly Condition[] | undefined;
  const before = conditionsOf(deployment).filter(
    (one) => one.type !== 'ReplicaFailure' || failure !== undefined,
  );
  const fresh = [found.availability, found.progress, ...(failure ?? []).map(repeated)];
  const conditions = fresh.reduce<readonly Condition[]>(
    (all, one) => withCondition(all, one, at.now),
    before,
  );
  if (!at.moved) return conditions;
  return conditions.map((one) =>
    one.type === 'Progressing' && one.reason === 'ReplicaSetUpdated'
      ? { ...one, lastUpdateTime: at.now }
      : one,
  );
}

/** Writes a Deployment's counts and conditions, which `kubectl rollout status` reads. */
export function reportDeployment(
  context: ControllerContext,
  queue: WorkQueue,
  old: Workload,
  rollout: Rollout,
): void {
  const { store } = context;
  const key = keyOf(old.metadata.namespace, old.metadata.name);
  const deployment = store.state.table('deployments.apps').get(key) as Workload | undefined;
  if (deployment === undefined) return;
  const counts = countsOf(rollout);
  const wanted = deployment.spec.replicas ?? 1;
  const unavailableReplicas = Math.max(
    0,
    Math.max(wanted, counts.replicas) - counts.availableReplicas,
  );
  const moved = Object.entries(counts).some(
    ([field, value]) => Number(lookUp(deployment.status, field) ?? 0) !== value,
  );
  const found = {
    availability: availabilityOf(deployment, counts),
    progress: progress(deployment, rollout, isStalled(context, queue, deployment, moved)),
  };
  const now = timeText(store.clock.nowMs());
  writeStatus(store, store.type('apps', 'v1', 'deployments'), deployment, {
    observedGeneration: deployment.metadata.generation,
    ...Object.fromEntries(
      Object.entries({ ...counts, unavailableReplicas }).filter(([, value]) => value > 0),
    ),
    conditions: nextConditions(deployment, rollout, found, { moved, now }),
  });
}
