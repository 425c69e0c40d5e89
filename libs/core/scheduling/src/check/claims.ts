import type { Pod } from '@dovetail/core-kube-model';

import type { Violation } from '../plan.js';
import type { Surroundings } from '../snapshot.js';
import { type Census, claimsOf, type Seat } from './census.js';
import type { Host } from './hosts.js';

/** The data that claims of one pod are checked with. */
export type ClaimUse = {
  /** The nodes to judge. */
  readonly asked: readonly Host[];
  readonly running: Census;
  readonly planned: Census;
  /** Whether a running pod stays where it is; a planned one does not. */
  readonly stays: (seat: Seat) => boolean;
};

const known = new WeakMap<Surroundings['persistentVolumeClaims'], ReadonlySet<string>>();

/** The claims with ReadWriteOncePod, as `namespace/name`. */
function ofOnePod({ persistentVolumeClaims: all }: Surroundings): ReadonlySet<string> {
  const claims =
    known.get(all) ??
    new Set(all.flatMap((one) => (one.onePod === true ? [`${one.namespace}/${one.name}`] : [])));
  known.set(all, claims);
  return claims;
}

/**
 * Returns planned pods whose claim only one pod may use (ReadWriteOncePod), and another pod uses or
 * gets. kube-scheduler binds no second pod to it.
 */
export function claimViolations(
  { asked, running, planned, stays }: ClaimUse,
  around: Surroundings,
): readonly Violation[] {
  const single = ofOnePod(around);
  if (single.size === 0) return [];
  const otherUser = (pod: Pod, claim: string): Seat | undefined =>
    [...running.users(claim).filter(stays), ...planned.users(claim)].find(
      (seat) => seat.pod.uid !== pod.uid,
    );
  return asked.flatMap((host) =>
    host.planned.flatMap((pod) =>
      claimsOf(pod).flatMap((claim) => {
        const other = single.has(claim) ? otherUser(pod, claim) : undefined;
        return other === undefined
          ? []
          : [
              {
                code: 'volume' as const,
                where: host.name,
                message: `claim ${claim} of pod ${pod.uid} is for one pod, and pod ${other.pod.uid} uses it`,
              },
            ];
      }),
    ),
  );
}
