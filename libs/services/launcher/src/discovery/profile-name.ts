import type { NodeClass } from '@dovetail/core-api';
import type { Hash } from '@dovetail/core-ports';

import type { ClusterFacts } from './cluster-facts.js';

/**
 * The name of the profile that is made for a class. It is derived from region, class and role, so
 * that making it twice makes one profile, and a changed role makes another.
 */
export const profileNameOf = (
  nodeClass: NodeClass,
  options: { readonly region: string; readonly cluster: ClusterFacts },
  hash: Hash,
): string =>
  `${options.cluster.identity.name}_${hash.sha256Hex(`${options.region}/${nodeClass.uid}/${nodeClass.role ?? ''}`).slice(0, 20)}`;
