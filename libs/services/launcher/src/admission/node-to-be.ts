import { type Pool } from '@dovetail/core-api';
import { nodeInFlight, type TypesByName } from '@dovetail/core-cluster';
import { type Pod, sumResources } from '@dovetail/core-kube-model';
import type { ExistingNode, NewNode } from '@dovetail/core-scheduling';

import { claimTemplate } from './claim-object.js';

/** An admitted bin as a claim of this name, in this pool, for these pods. */
export type Admitted = {
  readonly pool: Pool;
  readonly types: TypesByName;
  readonly pods: readonly Pod[];
  readonly claimName: string;
};

/** An admitted bin as later bins see it: the claim that it will be, in flight, with its promise. */
export function nodeToBe(bin: NewNode, as: Admitted, replacement: boolean): ExistingNode {
  const requests = sumResources(as.pods.map((pod) => pod.requests));
  return nodeInFlight({
    claim: {
      ...claimTemplate(bin, as.pool),
      uid: as.claimName,
      name: as.claimName,
      pool: as.pool.identity,
      capacity: {},
      allocatable: {},
    },
    types: as.types,
    promised: [replacement ? { pods: [], reserved: requests } : { pods: as.pods, reserved: {} }],
  });
}
