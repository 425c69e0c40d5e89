import {
  type AdmissionObjects,
  admittedSpec,
  type Parsed,
  type Pod,
  podOf,
  type Raw,
  recordOf,
} from '@dovetail/core-kube-model';

import type { Inventory, Item } from './kinds.js';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Priorities that every cluster has. */
const systemPriorities: readonly (readonly [string, number])[] = [
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
];

/**
 * Changes that the API server makes to a pod's spec on its way into a namespace. No namespace: the
 * pod is there already, and the defaults of LimitRanges leave it alone.
 */
export type Admission = (spec: Raw, namespace: string | undefined) => Raw;

/** Reads a pod as the API server would admit it. Without containers it would not. */
export function admittedPod(object: Raw, admit: Admission): Parsed<Pod> {
  const { spec } = object;
  const { containers } = recordOf(spec);
  const none = containers === undefined || containers === null;
  if (none || (Array.isArray(containers) && containers.length === 0))
    return {
      ok: false,
      field: 'spec.containers',
      value: none ? '(absent)' : '[]',
      remedy: 'write at least one container',
    };
  const { namespace, creationTimestamp } = recordOf(object['metadata']);
  const isMade = typeof creationTimestamp === 'string';
  return podOf({ ...object, spec: admit(recordOf(spec), isMade ? undefined : textOf(namespace)) });
}

function withPriority(
  spec: Raw,
  priorities: ReadonlyMap<string, number>,
  byDefault: number | undefined,
): Raw {
  if (spec['priority'] !== undefined) return spec;
  const name = spec['priorityClassName'];
  const priority = typeof name === 'string' && name !== '' ? priorities.get(name) : byDefault;
  return priority === undefined ? spec : { ...spec, priority };
}

const valueOf = (item: Item): number | undefined =>
  typeof item.object['value'] === 'number' ? item.object['value'] : undefined;

/** Adds the classes that a pending pod names and the input lacks, such as `RuntimeClass/gvisor`. */
function addMissing(
  missing: Set<string>,
  spec: Raw,
  known: { readonly priorities: ReadonlySet<string>; readonly runtimes: ReadonlySet<string> },
): void {
  if (spec['nodeName'] !== undefined) return;
  const priority = spec['priority'] === undefined ? textOf(spec['priorityClassName']) : '';
  const runtime = textOf(spec['runtimeClassName']);
  if (priority !== '' && !known.priorities.has(priority)) missing.add(`PriorityClass/${priority}`);
  if (runtime !== '' && !known.runtimes.has(runtime)) missing.add(`RuntimeClass/${runtime}`);
}

/** The LimitRanges and RuntimeClasses of the input. */
export function admissionObjectsOf(inventory: Inventory): AdmissionObjects {
  const limitRanges = inventory.of('LimitRange');
  const runtimes = new Map(inventory.of('RuntimeClass').map((item) => [item.name, item.object]));
  return {
    limitRanges: (namespace) =>
      limitRanges.filter((item) => item.namespace === namespace).map(({ object }) => object),
    runtimeClass: (name) => runtimes.get(name),
  };
}

/**
 * Priorities by PriorityClass, overhead and placement by RuntimeClass, and defaults by LimitRange,
 * as their admission plug-ins write them in. `missing` fills with the classes that pods name and
 * the input lacks.
 */
export function admissionOf(inventory: Inventory): {
  readonly admit: Admission;
  readonly missing: ReadonlySet<string>;
} {
  const classes = inventory.of('PriorityClass');
  const priorities = new Map([
    ...systemPriorities,
    ...classes.flatMap((item) => {
      const value = valueOf(item);
      return value === undefined ? [] : [[item.name, value] as const];
    }),
  ]);
  const byDefault = classes.filter((item) => item.object['globalDefault'] === true).map(valueOf)[0];
  const objects = admissionObjectsOf(inventory);
  const missing = new Set<string>();
  const runtimes = new Set(inventory.of('RuntimeClass').map(({ name }) => name));
  const known = { priorities: new Set(priorities.keys()), runtimes };
  const admit: Admission = (spec, namespace) => {
    addMissing(missing, spec, known);
    const admitted = withPriority(spec, priorities, byDefault);
    return namespace === undefined
      ? admittedSpec(admitted, '', { ...objects, limitRanges: () => [] })
      : admittedSpec(admitted, namespace, objects);
  };
  return { admit, missing };
}
