import { createHash } from 'node:crypto';

import { isRecord, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';
import { controllerOf, isReady, isTerminal, type Pod, type Workload } from '../model/objects.js';
import { keyOf } from '../store/table.js';
import {
  type Controller,
  type ControllerContext,
  createPod,
  deletePod,
  writeStatus,
} from './context.js';
import { isAvailable } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'statefulsets.apps';
const component = 'statefulset-controller';
const hashLabel = 'controller-revision-hash';

const hashOf = (set: Workload): string =>
  `${set.metadata.name}-${createHash('sha256').update(JSON.stringify(set.spec.template)).digest('hex').slice(0, 10)}`;

/**
 * Keeps a StatefulSet's pods by ordinal, in order unless it is Parallel. Rolling updates go from
 * the last pod to the first.
 */
export function statefulSetController(context: ControllerContext): Controller {
  const { store } = context;
  const queue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync(context, key),
    onError: (key, error) => context.onError(component, key, error),
  });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      const { namespace, name } = change.object.metadata;
      if (change.table === table) queue.add(keyOf(namespace, name));
      const owner = change.table === 'pods' ? controllerOf(change.object) : undefined;
      if (owner?.kind === 'StatefulSet') queue.add(keyOf(namespace, owner.name));
    },
  };
}

function sync(context: ControllerContext, key: string): void {
  const set = context.store.state.table(table).get(key) as Workload | undefined;
  if (set === undefined) return;
  const pods = new Map(
    (context.podsByOwner.get(set.metadata.uid) as readonly Pod[]).map((pod) => [
      pod.metadata.name,
      pod,
    ]),
  );
  if (set.metadata.deletionTimestamp === undefined) step(context, set, pods);
  report(context, set);
}

const ordinalOf = (pod: Pod): number =>
  Number(pod.metadata.name.slice(pod.metadata.name.lastIndexOf('-') + 1));

function step(context: ControllerContext, set: Workload, pods: ReadonlyMap<string, Pod>): void {
  const replicas = set.spec.replicas ?? 1;
  const isParallel = set.spec['podManagementPolicy'] === 'Parallel';
  for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
    const pod = pods.get(`${set.metadata.name}-${ordinal}`);
    if (pod === undefined) createOrdinal(context, set, ordinal);
    else if (isTerminal(pod) && pod.metadata.deletionTimestamp === undefined)
      deletePod(context, set, pod, component);
    if (
      !isParallel &&
      (pod === undefined || !isReady(pod) || pod.metadata.deletionTimestamp !== undefined)
    )
      return;
  }
  const beyond = [...pods.values()]
    .filter((pod) => ordinalOf(pod) >= replicas)
    .sort((left, right) => ordinalOf(right) - ordinalOf(left));
  for (const pod of isParallel ? beyond : beyond.slice(0, 1))
    if (pod.metadata.deletionTimestamp === undefined) deletePod(context, set, pod, component);
  if (beyond.length === 0) update(context, set, pods);
}

function createOrdinal(context: ControllerContext, set: Workload, ordinal: number): void {
  const name = `${set.metadata.name}-${ordinal}`;
  const volumes = claims(context, set, name);
  const { template } = set.spec;
  const spec = {
    hostname: name,
    subdomain: textOf(set.spec['serviceName']),
    ...(volumes.length === 0
      ? {}
      : { volumes: [...listOf(recordOf(template.spec)['volumes']), ...volumes] }),
  };
  const labels = {
    [hashLabel]: hashOf(set),
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
  };
  createPod(context, set, template, { name, labels, spec, component });
}

/** Makes the claims of one ordinal where they are missing; they outlive its pods. */
function claims(context: ControllerContext, set: Workload, podName: string): readonly object[] {
  const { store } = context;
  const type = store.type('', 'v1', 'persistentvolumeclaims');
  return listOf(set.spec['volumeClaimTemplates'])
    .filter(isRecord)
    .map((template) => {
      const volume = textOf(recordOf(template['metadata'])['name']);
      const claimName = `${volume}-${podName}`;
      if (store.find(type, { namespace: set.metadata.namespace, name: claimName }) === undefined) {
        store.create(type, {
          namespace: set.metadata.namespace,
          object: {
            metadata: { name: claimName, labels: set.spec.selector.matchLabels ?? {} },
            spec: template['spec'],
          },
        });
        context.recorder.record(set, {
          type: 'Normal',
          reason: 'SuccessfulCreate',
          message: `create Claim ${claimName} Pod ${podName} in StatefulSet ${set.metadata.name} success`,
          component,
        });
      }
      return { name: volume, persistentVolumeClaim: { claimName } };
    });
}

function update(context: ControllerContext, set: Workload, pods: ReadonlyMap<string, Pod>): void {
  const strategy = recordOf(set.spec['updateStrategy']);
  if (strategy['type'] === 'OnDelete') return;
  const partition = Number(recordOf(strategy['rollingUpdate'])['partition'] ?? 0);
  for (let ordinal = (set.spec.replicas ?? 1) - 1; ordinal >= partition; ordinal -= 1) {
    const pod = pods.get(`${set.metadata.name}-${ordinal}`);
    if (pod === undefined) return;
    if (pod.metadata.labels?.[hashLabel] !== hashOf(set)) {
      if (pod.metadata.deletionTimestamp === undefined) deletePod(context, set, pod, component);
      return;
    }
    if (!isReady(pod)) return;
  }
}

function report(context: ControllerContext, set: Workload): void {
  const { store } = context;
  const current = store.state.table(table).get(keyOf(set.metadata.namespace, set.metadata.name)) as
    Workload | undefined;
  if (current === undefined) return;
  const now = store.clock.nowMs();
  const pods = context.podsByOwner.get(set.metadata.uid) as readonly Pod[];
  const hash = hashOf(current);
  const updated = pods.filter((pod) => pod.metadata.labels?.[hashLabel] === hash).length;
  const optional = {
    readyReplicas: pods.filter(isReady).length,
    currentReplicas: updated,
    updatedReplicas: updated,
  };
  writeStatus(store, store.type('apps', 'v1', 'statefulsets'), current, {
    observedGeneration: current.metadata.generation,
    replicas: pods.length,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value > 0)),
    availableReplicas: pods.filter((pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now))
      .length,
    currentRevision: hash,
    updateRevision: hash,
    collisionCount: 0,
  });
}
