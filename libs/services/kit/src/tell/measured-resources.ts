import type { Resources } from '@dovetail/core-kube-model';

/**
 * Amounts as Karpenter's metrics have them: `cpu` in cores, everything else as it is, under names
 * in lower case and without dashes (`ephemeral_storage`). Other signs, as the slash of
 * `nvidia.com/gpu`, stay.
 */
export const measuredResources = (resources: Resources): readonly (readonly [string, number])[] =>
  Object.entries(resources).map(([name, amount]) => [
    name.toLowerCase().replaceAll('-', '_'),
    name === 'cpu' ? amount / 1_000 : amount,
  ]);
