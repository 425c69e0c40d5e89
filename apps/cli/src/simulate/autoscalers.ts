import { lookUp } from '@dovetail/core-invariant';
import { parsed, readInteger, recordOf } from '@dovetail/core-kube-model';

import { valueOf } from '../manifests/objects.js';
import type { Inventory, Item } from './kinds.js';

/** A HorizontalPodAutoscaler: its name, and how many pods its workload has at least and at most. */
export type Autoscaler = { readonly name: string; readonly min: number; readonly max: number };

/** The identity by which a workload and the target of an autoscaler meet. */
export const scaleKey = ({
  kind,
  namespace,
  name,
}: Pick<Item, 'kind' | 'namespace' | 'name'>): string => `${kind}/${namespace}/${name}`;

const readCount = (item: Item, name: string, fallback: number): Promise<number> =>
  valueOf(
    item,
    parsed(
      () =>
        readInteger(lookUp(recordOf(item.object['spec']), name), `spec.${name}`, {
          min: 0,
          max: 1_000_000,
        }) ?? fallback,
    ),
  );

/** The autoscalers of the input by their workload. One that cannot be read becomes a problem. */
export async function autoscalersOf(
  inventory: Inventory,
): Promise<ReadonlyMap<string, Autoscaler>> {
  const found = new Map<string, Autoscaler>();
  for (const item of inventory.of('HorizontalPodAutoscaler')) {
    const target = recordOf(recordOf(item.object['spec'])['scaleTargetRef']);
    const read = await inventory.problems.reading(async () => ({
      name: item.name,
      min: await readCount(item, 'minReplicas', 1),
      max: await readCount(item, 'maxReplicas', Infinity),
    }));
    if (read === undefined) continue;
    const { kind, name } = target;
    const { namespace } = item;
    found.set(scaleKey({ kind: String(kind), namespace, name: String(name) }), read);
  }
  return found;
}

/**
 * The number of pods of a workload once its autoscaler has seen it: within the bounds of that. The
 * load is not known, so the number that is written stays if they allow it. An autoscaler leaves a
 * workload of 0 pods alone, as Kubernetes documents.
 */
export function scaledBy(
  autoscaler: Autoscaler | undefined,
  { kind, name }: Item,
  written: number,
): { readonly count: number; readonly notes: readonly string[] } {
  if (autoscaler === undefined || written === 0) return { count: written, notes: [] };
  const count = Math.min(autoscaler.max, Math.max(autoscaler.min, written));
  const note = `${kind} ${name} counts as ${count} pods, because HorizontalPodAutoscaler ${autoscaler.name} scales it`;
  return { count, notes: count === written ? [] : [note] };
}
