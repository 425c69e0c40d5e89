import { type Parsed, type Pod, podOf, type Raw, recordOf } from '@dovetail/core-kube-model';

import type { Inventory, Item } from './kinds.js';

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Priorities that every cluster has. */
const systemPriorities: readonly (readonly [string, number])[] = [
  ['system-cluster-critical', 2_000_000_000],
  ['system-node-critical', 2_000_001_000],
];

/** Changes that the API server makes to a pod's spec on its way in. */
export type Admission = (spec: Raw) => Raw;

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
  return podOf({ ...object, spec: admit(recordOf(spec)) });
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

function withRuntime(spec: Raw, classes: ReadonlyMap<string, Raw>): Raw {
  const runtime = classes.get(textOf(spec['runtimeClassName']));
  if (runtime === undefined) return spec;
  const scheduling = recordOf(runtime['scheduling']);
  const overhead = recordOf(runtime['overhead'])['podFixed'];
  return {
    ...spec,
    ...(spec['overhead'] === undefined && overhead !== undefined ? { overhead } : {}),
    ...(scheduling['nodeSelector'] === undefined
      ? {}
      : {
          nodeSelector: {
            ...recordOf(spec['nodeSelector']),
            ...recordOf(scheduling['nodeSelector']),
          },
        }),
    ...(scheduling['tolerations'] === undefined
      ? {}
      : { tolerations: [...list(spec['tolerations']), ...list(scheduling['tolerations'])] }),
  };
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

/**
 * Priorities by PriorityClass, and overhead and placement by RuntimeClass, as their admission
 * plug-ins write them in. `missing` fills with the classes that pods name and the input lacks.
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
  const runtimes = new Map(inventory.of('RuntimeClass').map((item) => [item.name, item.object]));
  const missing = new Set<string>();
  const known = { priorities: new Set(priorities.keys()), runtimes: new Set(runtimes.keys()) };
  const admit: Admission = (spec) => {
    addMissing(missing, spec, known);
    return withRuntime(withPriority(spec, priorities, byDefault), runtimes);
  };
  return { admit, missing };
}
