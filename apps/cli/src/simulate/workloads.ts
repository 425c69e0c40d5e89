import { contentHash } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import {
  type Owner,
  parsed,
  type Pod,
  type PodVolume,
  type Raw,
  readInteger,
  recordOf,
} from '@dovetail/core-kube-model';

import { valueOf } from '../manifests/objects.js';
import { type Admission, admittedPod } from './admission.js';
import { type Autoscaler, autoscalersOf, scaledBy, scaleKey } from './autoscalers.js';
import type { Inventory, Item } from './kinds.js';
import { livingPods, parentsOf } from './owners.js';

/** The most pods that one workload may stand for. */
const replicasMax = 1_000_000;

/**
 * Where a workload keeps its template, and its number of pods. The pods of a stateful set have
 * numbers from `first`.
 */
type Shape = {
  readonly template: Raw;
  readonly field: string;
  readonly count: number;
  readonly first?: number;
};

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
        readInteger(lookUp(spec, at.name), `${at.field}.${at.name}`, {
          min: 0,
          max: replicasMax,
        }) ?? fallback,
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
  if (item.kind !== 'CronJob') {
    const ordinals = recordOf(spec['ordinals']);
    const start = { name: 'start', field: 'spec.ordinals' };
    return {
      template: recordOf(spec['template']),
      field: 'spec.template',
      count: await integerAt(item, spec, { name: 'replicas', field: 'spec' }, 1),
      ...(item.kind === 'StatefulSet' ? { first: await integerAt(item, ordinals, start, 0) } : {}),
    };
  }
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
  const result = admittedPod(
    {
      metadata: {
        ...metadata,
        ...labels,
        name: item.name,
        namespace: item.namespace,
        uid: item.uid,
      },
      spec: shape.template['spec'],
    },
    admit,
  );
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

const workloadKinds = [
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'Job',
  'CronJob',
];

/**
 * The numbers of the pods that a workload still asks for. A stateful set has one pod of each
 * number; other workloads ask for as many as are missing.
 */
function missingOf(shape: Shape, item: Item, living: ReadonlySet<string>): readonly number[] {
  const { first, count } = shape;
  if (first === undefined)
    return Array.from({ length: Math.max(0, count - living.size) }, (_, n) => living.size + n);
  return Array.from({ length: count }, (_, n) => first + n).filter(
    (n) => !living.has(`${item.name}-${n}`),
  );
}

/** The pods that workloads ask for, and notes for the user about their number. */
export type AskedPods = { readonly pods: readonly Pod[]; readonly notes: readonly string[] };

/** The pods that a workload asks for beside those that live. Throws InputError if unreadable. */
async function podsOf(
  item: Item,
  living: ReadonlySet<string>,
  { admit, autoscaler }: { readonly admit: Admission; readonly autoscaler?: Autoscaler },
): Promise<AskedPods> {
  const written = await shapeOf(item);
  const { count, notes } = scaledBy(autoscaler, item, written.count);
  const shape = { ...written, count };
  const base = await templatePod(item, shape, admit);
  return {
    pods: missingOf(shape, item, living).map((index) => replicaOf(item, base, index)),
    notes,
  };
}

/**
 * The missing pods of the workloads. A workload that another one in the input controls is left to
 * that one, and existing pods count. So manifests and the output of `kubectl get` are both read
 * correctly. A workload that cannot be read becomes a problem.
 */
export async function workloadPods(
  inventory: Inventory,
  given: readonly Pod[],
  admit: Admission,
): Promise<AskedPods> {
  const items = workloadKinds.flatMap((kind) => inventory.of(kind));
  const parents = parentsOf(items);
  const living = livingPods(given, items, parents);
  const autoscalers = await autoscalersOf(inventory);
  const pods: Pod[] = [];
  const notes: string[] = [];
  for (const item of items) {
    if (parents.has(item.uid)) continue;
    const autoscaler = autoscalers.get(scaleKey(item));
    const asked = await inventory.problems.reading(() =>
      podsOf(item, living.get(item.uid) ?? new Set(), {
        admit,
        ...(autoscaler === undefined ? {} : { autoscaler }),
      }),
    );
    for (const pod of asked?.pods ?? []) pods.push(pod);
    notes.push(...(asked?.notes ?? []));
  }
  return { pods, notes };
}
