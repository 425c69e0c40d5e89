import { nodeClaimOf, nodePoolOf } from '@dovetail/core-api';
import { nodeOf, podOf } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

import { type FleetKind, type FleetObject, podUseOf } from './fleet.js';

/**
 * Reads an object of the API. Undefined: it cannot be read, or counts for nothing, such as a pod
 * that has ended.
 */
export const fleetObjectOf: Readonly<
  Record<FleetKind, (object: KubeObject) => FleetObject | undefined>
> = {
  claim: (object) => {
    const one = nodeClaimOf(object);
    return one.ok ? { kind: 'claim', uid: one.value.uid, claim: one.value } : undefined;
  },
  node: (object) => {
    const one = nodeOf(object);
    return one.ok ? { kind: 'node', uid: one.value.uid, node: one.value } : undefined;
  },
  pool: (object) => {
    const one = nodePoolOf(object);
    return one.ok ? { kind: 'pool', uid: object.metadata.uid ?? '', pool: one.value } : undefined;
  },
  pod: (object) => {
    const one = podOf(object);
    const pod = one.ok ? podUseOf(one.value) : undefined;
    return one.ok && pod !== undefined ? { kind: 'pod', uid: one.value.uid, pod } : undefined;
  },
};
