import { at, float64At, lookUp, put } from '@dovetail/core-invariant';
import type { DaemonSet, Pod, Resources } from '@dovetail/core-kube-model';

/**
 * The resources that pods and daemonsets request, in the order of every vector of this plan.
 * Amounts are in millicores of cpu and bytes of memory. Invariant: cpu, memory and pods come first;
 * the others follow by name.
 */
export type Dimensions = { readonly names: readonly string[] };

const leading = ['cpu', 'memory', 'pods'];

/**
 * Returns the dimensions of one plan. A resource without requests excludes no pod and is left out.
 */
export function dimensionsOf(pods: readonly Pod[], daemonSets: readonly DaemonSet[]): Dimensions {
  const names = new Set<string>();
  for (const pod of pods)
    for (const name in pod.requests) if ((lookUp(pod.requests, name) ?? 0) > 0) names.add(name);
  for (const { template } of daemonSets)
    for (const name of Object.keys(template.requests)) names.add(name);
  const others = [...names].filter((name) => !leading.includes(name)).sort();
  return { names: [...leading, ...others] };
}

/** Returns amounts as a vector. An absent name means zero. */
export function vectorOf(dimensions: Dimensions, resources: Resources): Float64Array {
  const { names } = dimensions;
  const vector = new Float64Array(names.length);
  for (let index = 0; index < names.length; index += 1)
    vector[index] = lookUp(resources, at(names, index)) ?? 0;
  return vector;
}

/** Returns a vector as amounts by name, without zeros. */
export function resourcesOf(dimensions: Dimensions, vector: Float64Array): Resources {
  const resources: Record<string, number> = {};
  dimensions.names.forEach((name, index) => {
    if (vector[index] !== 0) put(resources, name, float64At(vector, index));
  });
  return resources;
}

/** Adds `times` × `amounts` to `total` in place. */
export function addTo(total: Float64Array, amounts: Float64Array, times: number): void {
  for (let index = 0; index < total.length; index += 1)
    // Reads here are unchecked for speed: every pod that a plan places is added up here.
    total[index] = (total[index] as number) + (amounts[index] as number) * times;
}
