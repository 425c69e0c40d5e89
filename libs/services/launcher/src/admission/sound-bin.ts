import type { Pool } from '@dovetail/core-api';
import type { VainPools, VainTypes } from '@dovetail/core-cluster';
import type { NewNode, Reason } from '@dovetail/core-scheduling';

/**
 * The bin without types that never became usable nodes of its pool, if it breaks no rule then, such
 * as one about how many types the pool wants; else with them. Otherwise the rules that it breaks.
 * No type is left out of a pool of which several types failed: the fault is not theirs.
 */
export function soundBin(
  bin: NewNode,
  { identity }: Pick<Pool, 'identity'>,
  {
    vainTypes,
    vainPools,
    broken,
  }: {
    readonly vainTypes: Pick<VainTypes, 'usable'>;
    readonly vainPools: Pick<VainPools, 'isFailing'>;
    readonly broken: (bin: NewNode) => readonly Reason[];
  },
): NewNode | { readonly broken: readonly Reason[] } {
  const usable = vainPools.isFailing(identity)
    ? bin
    : { ...bin, options: vainTypes.usable(identity, bin.options) };
  if (usable.options !== bin.options && broken(usable).length === 0) return usable;
  const rules = broken(bin);
  return rules.length === 0 ? bin : { broken: rules };
}
