import { type Raw, recordOf } from '@dovetail/core-kube-model';

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

/**
 * Priorities by PriorityClass, and overhead and placement by RuntimeClass, as their admission
 * plug-ins write them in.
 */
export function admissionOf(inventory: Inventory): Admission {
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
  if (priorities.size === systemPriorities.length && runtimes.size === 0) {
    return (spec) =>
      spec['priorityClassName'] === undefined ? spec : withPriority(spec, priorities, undefined);
  }
  return (spec) => withRuntime(withPriority(spec, priorities, byDefault), runtimes);
}
