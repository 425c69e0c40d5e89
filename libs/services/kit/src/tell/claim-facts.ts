import type { Decision } from '@dovetail/contracts';
import {
  isWithoutPool,
  labels,
  type NodeClaim,
  type NodePrice,
  nodePriceOf,
} from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';

/** The part of a decision that follows from the claim it is about. */
export type ClaimFacts = Pick<
  Decision,
  | 'pool'
  | 'claimName'
  | 'instanceId'
  | 'instanceType'
  | 'zone'
  | 'capacityType'
  | 'priceMicrosPerHour'
  | 'priceEstimated'
  | 'objects'
>;

/**
 * The facts of a claim that every decision about it carries; those not known yet are absent.
 * `now` is the price of its offering now, if it is known. Without it the price is that of the
 * launch.
 */
export function claimFacts(claim: NodeClaim, now?: NodePrice): ClaimFacts {
  const instanceId = instanceIdOf(claim);
  const instanceType = claim.labels[labels.instanceType];
  const zone = claim.labels[labels.zone];
  return {
    ...(isWithoutPool(claim) ? {} : { pool: claim.pool }),
    claimName: claim.name,
    ...(now ?? nodePriceOf(claim)),
    ...capacityTypeOf(claim),
    ...(instanceId === undefined ? {} : { instanceId }),
    ...(instanceType === undefined ? {} : { instanceType }),
    ...(zone === undefined ? {} : { zone }),
    objects: [
      { kind: 'NodeClaim', name: claim.name, uid: claim.uid },
      ...(claim.nodeName === undefined ? [] : [{ kind: 'Node', name: claim.nodeName }]),
    ],
  };
}

/** A capacity type that Dovetail does not know is left out: the message could not carry it. */
function capacityTypeOf({ labels: held }: NodeClaim): Pick<ClaimFacts, 'capacityType'> {
  const capacityType = held[labels.capacityType];
  return capacityType === 'spot' || capacityType === 'on-demand' || capacityType === 'reserved'
    ? { capacityType }
    : {};
}
