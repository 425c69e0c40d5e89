import type { NodeClass } from '@dovetail/core-api';
import type { Hash } from '@dovetail/core-ports';

import type { ClusterFacts } from './cluster-facts.js';

/** The parts of the name that all classes of a cluster share. */
export type ProfilePlace = {
  readonly region: string;
  readonly cluster: Pick<ClusterFacts, 'identity'>;
};

/**
 * The name of the profile that is made for a class. It is derived from region, class and role, so
 * that making it twice makes one profile, and a changed role makes another.
 */
export const profileNameOf = (nodeClass: NodeClass, place: ProfilePlace, hash: Hash): string =>
  `${place.cluster.identity.name}_${hash.sha256Hex(`${place.region}/${nodeClass.uid}/${nodeClass.role ?? ''}`).slice(0, 20)}`;

/** IAM's path of all profiles that were ever made for a class. It is Karpenter's path, too. */
export const profilePathOf = ({ uid }: NodeClass, place: ProfilePlace): string =>
  `/karpenter/${place.region}/${place.cluster.identity.name}/${uid}/`;
