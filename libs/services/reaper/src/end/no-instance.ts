import { type NodeClaim, terminationFinalizer } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { aboutClaim } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { writeConditions } from '../outside/claim-edits.js';

/** Whether the claim is being deleted and names something that is no instance of EC2. */
export const isOfNoInstance = (claim: NodeClaim): boolean =>
  claim.deletionMs !== undefined &&
  claim.providerId !== undefined &&
  claim.providerId !== '' &&
  instanceIdOf(claim) === undefined &&
  claim.finalizers.includes(terminationFinalizer);

/** Says why a claim stays whose provider id names no instance: there is nothing to end safely. */
export async function tellOfNoInstance(
  { deps, events }: ReaperContext,
  claim: NodeClaim,
): Promise<undefined> {
  const message =
    `status.providerID is "${claim.providerId ?? ''}", which names no instance of EC2: ` +
    `end the machine yourself, then remove the finalizer ${terminationFinalizer}`;
  const about = aboutClaim(claim);
  events.record({ about, type: 'Warning', reason: 'InstanceNotEnded', message });
  const type = 'InstanceTerminating';
  const told = { type, status: 'False', reason: 'ProviderIDUnknown', message } as const;
  await writeConditions(deps.kube, claim, [told], deps.clock.nowMs());
}
