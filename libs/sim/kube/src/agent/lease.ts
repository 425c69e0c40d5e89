import { type Clock, type KubeApi, kubeResources, type StopSignal } from '@dovetail/core-ports';

import { microTimeText } from '../model/objects.js';
import type { Gate } from './gate.js';

const namespace = 'kube-node-lease';
const { leases } = kubeResources;

/** Renews a node's Lease while its machine runs. The control plane watches this heartbeat. */
export async function keepLease(
  deps: { readonly kube: KubeApi; readonly clock: Clock; readonly gate: Gate },
  lease: { readonly nodeName: string; readonly everyMs: number },
  stop: StopSignal,
): Promise<void> {
  const { kube, clock, gate } = deps;
  const { nodeName: name } = lease;
  while (!stop.aborted) {
    await gate.call('lease', stop, async () => {
      const spec = {
        holderIdentity: name,
        leaseDurationSeconds: 40,
        renewTime: microTimeText(clock.nowMs()),
      };
      const ref = { resource: leases, name, namespace };
      if ((await kube.get(ref)) === undefined)
        await kube.create(leases, { metadata: { name, namespace }, spec });
      else await kube.patch(ref, { type: 'merge', body: { spec } });
    });
    await clock.sleep(lease.everyMs, stop);
  }
}
