import type { PodPromise } from '@dovetail/contracts';
import { type Cluster, livePromise } from '@dovetail/core-cluster';
import { compareText } from '@dovetail/core-kube-model';

import { parseAdmission } from '../cluster/admission-mark.js';

/** All promises that bind now, as the state feed carries them, in order of the holder's UID. */
export function livePromises(cluster: Cluster, nowMs: number): readonly PodPromise[] {
  return [...cluster.promises.holders()]
    .flatMap((holderUid) => podPromiseOf(cluster, holderUid, nowMs) ?? [])
    .sort((a, b) => compareText(a.holderUid, b.holderUid));
}

/** The holder's promise, as the state feed carries it; undefined when none binds now. */
export function podPromiseOf(
  cluster: Cluster,
  holderUid: string,
  nowMs: number,
): PodPromise | undefined {
  const live = livePromise(cluster, holderUid, nowMs);
  if (live === undefined) return undefined;
  const { holder, promise, waiting } = live;
  return {
    holderUid,
    holderKind: holder.kind,
    holderName: holder.value.name,
    podUids: waiting.map((pod) => pod.uid).sort(compareText),
    // A promise that someone wrote by hand may lack its admission: it then precedes all others.
    admission: parseAdmission(promise.admission) ?? { epoch: 0, number: 0 },
    ...(promise.untilMs === undefined ? {} : { untilMs: promise.untilMs }),
    // The shares of pods that have moved are left out by the reader, who may know of it before us.
    reserved: promise.reserved ?? {},
    ...(promise.forPodUids === undefined ? {} : { forPodUids: promise.forPodUids }),
  };
}

/**
 * The holders of promises that may end by what no change of themselves or of their pods shows: the
 * time, or the end of the node that they replace.
 */
export const holdersToCompare = ({ promises }: Cluster): readonly string[] =>
  [...promises.holders()].filter((uid) => {
    const { untilMs, replaces, forPodUids } = promises.of(uid) ?? {};
    return untilMs !== undefined || (replaces !== undefined && forPodUids === undefined);
  });
