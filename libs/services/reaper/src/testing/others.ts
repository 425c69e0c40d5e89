import type { KubeApi, ObjectRef, Patch } from '@dovetail/core-ports';

import { cluster } from './current-cluster.js';

/**
 * The API server beside which somebody else acts: `act` is done between the first patch for which
 * `isMoment` answers true and what it changes.
 */
export function actingBefore(
  isMoment: (ref: ObjectRef, patch: Patch) => boolean,
  act: () => Promise<unknown>,
): KubeApi {
  const { kube } = cluster;
  let isOver = false;
  return {
    ...kube,
    patch: async (ref, patch, options) => {
      if (!isOver && isMoment(ref, patch)) {
        isOver = true;
        await act();
      }
      return kube.patch(ref, patch, options);
    },
  };
}

/** The moment at which a node gets its taint. */
export const tainting =
  (name: string) =>
  ({ resource, name: changed }: ObjectRef, { body }: Patch): boolean =>
    resource.kind === 'Node' &&
    changed === name &&
    JSON.stringify(body).includes('dovetail.sh/retirement');
