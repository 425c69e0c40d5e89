import { contentHash } from '@dovetail/core-api';
import {
  isTerminal,
  isTerminating,
  type Owner,
  parsed,
  type Pod,
  podOf,
  type PodVolume,
  type Raw,
  readInteger,
  recordOf,
} from '@dovetail/core-kube-model';

import { valueOf } from '../manifests/objects.js';
import type { Admission } from './admission.js';
import type { Inventory, Item } from './kinds.js';

/** The most pods that one workload may stand for. */
const replicasMax = 1_000_000;

/** Where a workload keeps its template, and its number of pods. */
type Shape = { readonly template: Raw; readonly field: string; readonly count: number };

async function integerAt(
  item: Item,
  spec: Raw,
  at: { readonly name: string; readonly field: string },
  fallback: number,
): Promise<number> {
  return await valueOf(
    item,
    parsed(
      () =>
        readInteger(spec[at.name], `${at.field}.${at.name}`, { min: 0, max: replicasMax }) ??
        fallback,
    ),
  );
}

async function jobShape(item: Item, spec: Raw, field: string): Promise<Shape> {
  const parallelism = await integerAt(item, spec, { name: 'parallelism', field }, 1);
  const completions = await integerAt(item, spec, { name: 'completions', field }, parallelism);
  return {
    template: recordOf(spec['template']),
    field: `${field}.template`,
    count: spec['suspend'] === true ? 0 : Math.min(parallelism, completions),
  };
}

/** A CronJob counts as one run of its job. */
async function shapeOf(item: Item): Promise<Shape> {
  const spec = recordOf(item.object['spec']);
  if (item.kind === 'Job') return await jobShape(item, spec, 'spec');
  if (item.kind !== 'CronJob')
    return {
      template: recordOf(spec['template']),
      field: 'spec.template',
      count: await integerAt(item, spec, { name: 'replicas', field: 'spec' }, 1),
    };
  const run = await jobShape(
    item,
    recordOf(recordOf(spec['jobTemplate'])['spec']),
    'spec.jobTemplate.spec',
  );
  return spec['suspend'] === true ? { ...run, count: 0 } : run;
}

/** The template as a pod with the workload's name. Errors name the path within the workload. */
async function templatePod(item: Item, shape: Shape, admit: Admission): Promise<Pod> {
  const metadata = recordOf(shape.template['metadata']);
  const hash =
    item.kind === 'Deployment'
      ? { 'pod-template-hash': contentHash(shape.template).slice(0, 10) }
      : {};
  const labels =
    typeof metadata['labels'] === 'object'
      ? { labels: { ...recordOf(metadata['labels']), ...hash } }
      : { labels: metadata['labels'] ?? hash };
  const spec = admit(recordOf(shape.template['spec']));
  const result = podOf({
    metadata: { ...metadata, ...labels, name: item.name, namespace: item.namespace, uid: item.uid },
    spec,
  });
  return await valueOf(
    item,
    result.ok ? result : { ...result, field: `${shape.field}.${result.field}` },
  );
}

/** Volumes of one pod alone: ephemeral ones, and those of a stateful set's claim templates. */
function ownVolumes(item: Item, base: Pod, podName: string): readonly PodVolume[] {
  const templates =
    item.kind === 'StatefulSet' ? recordOf(item.object['spec'])['volumeClaimTemplates'] : undefined;
  const claims = (Array.isArray(templates) ? templates : []).map((template: unknown): PodVolume => {
    const storageClassName = recordOf(recordOf(template)['spec'])['storageClassName'];
    return {
      claimName: `${String(recordOf(recordOf(template)['metadata'])['name'])}-${podName}`,
      ephemeral: typeof storageClassName === 'string' ? { storageClassName } : {},
    };
  });
  const mounted = base.volumes.map((volume) =>
    volume.ephemeral === undefined
      ? volume
      : { ...volume, claimName: `${podName}${volume.claimName.slice(base.name.length)}` },
  );
  return [...mounted, ...claims];
}

function replicaOf(item: Item, base: Pod, index: number): Pod {
  const name = `${item.name}-${index}`;
  const owner: Owner = {
    apiVersion: item.apiVersion,
    kind: item.kind,
    name: item.name,
    uid: item.uid,
  };
  return {
    ...base,
    uid: `${item.uid}#${index}`,
    name,
    owner,
    createdMs: index,
    volumes: ownVolumes(item, base, name),
  };
}

const controllerOf = (item: Item): string | undefined => {
  const references = recordOf(item.object['metadata'])['ownerReferences'];
  const controller = (Array.isArray(references) ? references : [])
    .map(recordOf)
    .find((one) => one['controller'] === true);
  return typeof controller?.['uid'] === 'string' ? controller['uid'] : undefined;
};

const workloadKinds = [
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'Job',
  'CronJob',
];

/**
 * The missing pods of the workloads. A workload that another controls is left to that one, and
 * existing pods count. So manifests and the output of `kubectl get` are both read correctly.
 */
export async function workloadPods(
  inventory: Inventory,
  given: readonly Pod[],
  admit: Admission,
): Promise<readonly Pod[]> {
  const items = workloadKinds.flatMap((kind) => inventory.of(kind));
  const parents = new Map(
    items.flatMap((item) => {
      const parent = controllerOf(item);
      return parent === undefined ? [] : [[item.uid, parent] as const];
    }),
  );
  const living = new Map<string, number>();
  for (const pod of given) {
    if (pod.owner === undefined || isTerminal(pod) || isTerminating(pod)) continue;
    for (let uid: string | undefined = pod.owner.uid; uid !== undefined; uid = parents.get(uid))
      living.set(uid, (living.get(uid) ?? 0) + 1);
  }
  const pods: Pod[] = [];
  for (const item of items) {
    if (parents.has(item.uid)) continue;
    const shape = await shapeOf(item);
    const base = await templatePod(item, shape, admit);
    for (let index = living.get(item.uid) ?? 0; index < shape.count; index += 1)
      pods.push(replicaOf(item, base, index));
  }
  return pods;
}
