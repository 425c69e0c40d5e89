import { createHash } from 'node:crypto';

import { compareText, recordOf } from '@dovetail/core-kube-model';

import { equalJson } from '../model/json.js';
import { controllerOf, type Pod, type StoredObject, type Workload } from '../model/objects.js';
import type { ResourceType } from '../store/registry.js';
import { keyOf } from '../store/table.js';
import { type Controller, type ControllerContext, ownedBy } from './context.js';
import { reportDeployment } from './deployment-status.js';
import { ObjectIndex } from './object-index.js';
import { countOf } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'deployments.apps';
const component = 'deployment-controller';
const hashLabel = 'pod-template-hash';
const revisionKey = 'deployment.kubernetes.io/revision';
const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** A short text that follows from the template; equal templates have equal ones. */
function templateHash(template: unknown): string {
  const digest = createHash('sha256').update(JSON.stringify(template)).digest();
  return [...digest.subarray(0, 10)].map((byte) => letters[byte % letters.length]).join('');
}

type Setup = ControllerContext & { readonly sets: ObjectIndex; readonly queue: WorkQueue };

/** Rolls a Deployment's pods from one template to the next, through one ReplicaSet a template. */
export function deploymentController(context: ControllerContext): Controller {
  const { store } = context;
  const sets = new ObjectIndex(store, 'replicasets.apps', (set) =>
    controllerOf(set)?.kind === 'Deployment' ? [controllerOf(set)?.uid ?? ''] : [],
  );
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync({ ...context, sets, queue }, key),
    onError: (key, error) => context.onError(component, key, error),
  });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => {
      queue.stop();
      sets.stop();
    },
    heard: (change) => {
      const { namespace, name } = change.object.metadata;
      if (change.table === table) queue.add(keyOf(namespace, name));
      const owner = change.table === 'replicasets.apps' ? controllerOf(change.object) : undefined;
      if (owner?.kind === 'Deployment') queue.add(keyOf(namespace, owner.name));
    },
  };
}

const setsType = (setup: Setup): ResourceType => setup.store.type('apps', 'v1', 'replicasets');

function withoutHash(template: Workload['spec']['template']): object {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

function sync(setup: Setup, key: string): void {
  const deployment = setup.store.state.table(table).get(key) as Workload | undefined;
  if (deployment === undefined) return;
  if (deployment.metadata.deletionTimestamp === undefined) roll(setup, deployment);
  const sets = setup.sets.get(deployment.metadata.uid) as readonly Workload[];
  const current = sets.find((set) =>
    equalJson(withoutHash(set.spec.template), withoutHash(deployment.spec.template)),
  );
  reportDeployment(setup, setup.queue, deployment, { current, sets });
}

function roll(setup: Setup, deployment: Workload): void {
  const sets = setup.sets.get(deployment.metadata.uid) as readonly Workload[];
  const found = sets.find((set) =>
    equalJson(withoutHash(set.spec.template), withoutHash(deployment.spec.template)),
  );
  const others = sets.filter((set) => set !== found);
  const isRecreate = recordOf(deployment.spec['strategy'])['type'] === 'Recreate';
  if (deployment.spec['paused'] === true) return;
  if (isRecreate) {
    for (const set of others) scaleSet(setup, deployment, set, 0);
    const remaining = others.some((set) =>
      setup.podsByOwner
        .get(set.metadata.uid)
        .some(
          (pod) =>
            (pod as Pod).status?.phase !== 'Succeeded' && (pod as Pod).status?.phase !== 'Failed',
        ),
    );
    if (remaining) return;
  }
  const current = found ?? createSet(setup, deployment, sets);
  markRevision(setup, deployment, current, others);
  if (isRecreate) scaleSet(setup, deployment, current, deployment.spec.replicas ?? 1);
  else rollingScale(setup, deployment, current, others);
  forget(setup, deployment, others);
}

const revisionOf = (object: StoredObject): number =>
  Number(object.metadata.annotations?.[revisionKey] ?? 0);

function createSet(setup: Setup, deployment: Workload, sets: readonly Workload[]): Workload {
  const hash = templateHash(deployment.spec.template);
  const { template, selector, minReadySeconds } = deployment.spec;
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const revision = String(Math.max(0, ...sets.map(revisionOf)) + 1);
  const replicas = sets.length === 0 ? (deployment.spec.replicas ?? 1) : 0;
  const made = setup.store.create(setsType(setup), {
    namespace: deployment.metadata.namespace,
    object: {
      metadata: {
        name: `${deployment.metadata.name}-${hash}`,
        labels,
        annotations: {
          [revisionKey]: revision,
          'deployment.kubernetes.io/desired-replicas': String(deployment.spec.replicas ?? 1),
          'deployment.kubernetes.io/max-replicas': String(maxReplicas(deployment)),
        },
        ownerReferences: [ownedBy(deployment)],
      },
      spec: {
        replicas,
        ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    },
  }) as Workload;
  if (replicas > 0)
    say(setup, deployment, `Scaled up replica set ${made.metadata.name} from 0 to ${replicas}`);
  return made;
}

const say = (setup: Setup, deployment: Workload, message: string): void =>
  setup.recorder.record(deployment, {
    type: 'Normal',
    reason: 'ScalingReplicaSet',
    message,
    component,
  });

function markRevision(
  setup: Setup,
  deployment: Workload,
  current: Workload,
  others: readonly Workload[],
): void {
  const newest = Math.max(0, ...others.map(revisionOf));
  let revision = revisionOf(current);
  const annotate = (type: ResourceType, object: StoredObject): void =>
    void setup.store.patch(type, {
      ...object.metadata,
      patch: {
        type: 'merge',
        body: { metadata: { annotations: { [revisionKey]: String(revision) } } },
      },
    });
  if (revision <= newest) {
    revision = newest + 1;
    annotate(setsType(setup), current);
  }
  if (revisionOf(deployment) !== revision)
    annotate(setup.store.type('apps', 'v1', 'deployments'), deployment);
}

function maxReplicas(deployment: Workload): number {
  const replicas = deployment.spec.replicas ?? 1;
  const rolling = recordOf(recordOf(deployment.spec['strategy'])['rollingUpdate']);
  return recordOf(deployment.spec['strategy'])['type'] === 'Recreate'
    ? replicas
    : replicas + countOf(rolling['maxSurge'], replicas, 'up');
}

function scaleSet(setup: Setup, deployment: Workload, set: Workload, replicas: number): void {
  const before = set.spec.replicas ?? 0;
  if (before === replicas) return;
  setup.store.patch(setsType(setup), {
    ...set.metadata,
    patch: { type: 'merge', body: { spec: { replicas } } },
  });
  say(
    setup,
    deployment,
    `Scaled ${replicas > before ? 'up' : 'down'} replica set ${set.metadata.name} from ${before} to ${replicas}`,
  );
}

const available = (set: Workload): number => Number(set.status?.['availableReplicas'] ?? 0);

function rollingScale(
  setup: Setup,
  deployment: Workload,
  current: Workload,
  others: readonly Workload[],
): void {
  const wanted = deployment.spec.replicas ?? 1;
  const rolling = recordOf(recordOf(deployment.spec['strategy'])['rollingUpdate']);
  const surge = countOf(rolling['maxSurge'], wanted, 'up');
  const missing = countOf(rolling['maxUnavailable'], wanted, 'down');
  const unavailable = surge === 0 && missing === 0 ? 1 : missing;
  const old = others
    .filter((set) => (set.spec.replicas ?? 0) > 0)
    .sort(
      (left, right) =>
        revisionOf(left) - revisionOf(right) ||
        compareText(left.metadata.name, right.metadata.name),
    );
  const total = old.reduce(
    (sum, set) => sum + (set.spec.replicas ?? 0),
    current.spec.replicas ?? 0,
  );
  const room = Math.max(0, wanted + surge - total);
  const now = current.spec.replicas ?? 0;
  const next = now > wanted ? wanted : Math.min(wanted, now + room);
  scaleSet(setup, deployment, current, next);
  shrinkOld(setup, deployment, old, { wanted, unavailable, current });
}

/**
 * Ends old pods, unready ones first, as far as enough pods stay available even if no new one
 * starts.
 */
function shrinkOld(
  setup: Setup,
  deployment: Workload,
  old: readonly Workload[],
  aim: { readonly wanted: number; readonly unavailable: number; readonly current: Workload },
): void {
  const replicas = (set: Workload): number => set.spec.replicas ?? 0;
  const least = aim.wanted - aim.unavailable;
  const notYet = replicas(aim.current) - available(aim.current);
  let room = old.reduce((sum, set) => sum + replicas(set), replicas(aim.current)) - least - notYet;
  let spare = old.reduce((sum, set) => sum + available(set), available(aim.current)) - least;
  for (const set of old) {
    if (room <= 0) return;
    const broken = Math.min(room, Math.max(0, replicas(set) - available(set)));
    const healthy = Math.max(0, Math.min(spare, room - broken, replicas(set) - broken));
    room -= broken + healthy;
    spare -= healthy;
    if (broken + healthy > 0) scaleSet(setup, deployment, set, replicas(set) - broken - healthy);
  }
}

function forget(setup: Setup, deployment: Workload, others: readonly Workload[]): void {
  const keep = Number(deployment.spec['revisionHistoryLimit'] ?? 10);
  const idle = others
    .filter((set) => (set.spec.replicas ?? 0) === 0 && Number(set.status?.['replicas'] ?? 0) === 0)
    .sort((left, right) => revisionOf(right) - revisionOf(left));
  for (const set of idle.slice(keep))
    setup.store.delete(setsType(setup), set.metadata, { uid: set.metadata.uid });
}
