import { compareText, type DaemonSet, isActive, type Pod } from '@dovetail/core-kube-model';

import type { Cluster } from './cluster.js';

const isNewer = (left: Pod, right: Pod): boolean =>
  left.createdMs === right.createdMs
    ? compareText(left.uid, right.uid) > 0
    : left.createdMs > right.createdMs;

/** The newest of the daemonset's pods that neither ended nor is being deleted. */
function newestPod(cluster: Cluster, daemonSet: DaemonSet): Pod | undefined {
  let newest: Pod | undefined;
  for (const pod of cluster.pods.by('daemonset', daemonSet.uid))
    if (isActive(pod) && (newest === undefined || isNewer(pod, newest))) newest = pod;
  return newest;
}

/**
 * The daemonsets with the amounts that their pods really take. Admission plug-ins and webhooks
 * change pods on their way in, so the newest live pod knows better than the template. Karpenter
 * plans with that pod, too. The places that the pods may go to stay the template's, because the
 * daemonset controller pins each pod to its node. In order of UID.
 */
export const liveDaemonSets = (cluster: Cluster): readonly DaemonSet[] =>
  [...cluster.daemonSets.values()]
    .sort((a, b) => compareText(a.uid, b.uid))
    .map((daemonSet) => {
      const pod = newestPod(cluster, daemonSet);
      if (pod === undefined) return daemonSet;
      const { requests, hostPorts } = pod;
      return { ...daemonSet, template: { ...daemonSet.template, requests, hostPorts } };
    });
