import { isUnplaced, type Pod } from '@dovetail/core-kube-model';

import type { Mirror } from './mirror.js';

/** The pods that wait for a place and have no promise, apart from some by UID. */
export function waitingIn(
  { cluster, promises }: Mirror,
  except: ReadonlySet<string> = new Set(),
): readonly Pod[] {
  const promised = new Set([...promises.values()].flatMap(({ podUids }) => podUids));
  return [...cluster.pods.values()].filter(
    (pod) => isUnplaced(pod) && !promised.has(pod.uid) && !except.has(pod.uid),
  );
}
