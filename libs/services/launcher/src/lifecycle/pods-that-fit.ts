import type { Node, Pod } from '@dovetail/core-kube-model';
import { type Clock, type Log, type Metrics, neverStopping } from '@dovetail/core-ports';

import type { Checker } from '../admission/checker.js';
import type { PromiseHolder, PromiseWriter } from '../admission/promise-writer.js';

/** The checker of places, and the time at which promises are judged. */
export type FitDeps = {
  readonly clock: Clock;
  readonly checker: Pick<Checker, 'node' | 'nodesAround' | 'asOfNow'>;
};

/** All of the pods if they fit on the node together; else those that fit one after the other. */
export async function podsThatFit(
  { clock, checker }: FitDeps,
  node: Node,
  pods: readonly Pod[],
): Promise<readonly Pod[]> {
  if (pods.length === 0) return pods;
  const uids = new Set(pods.map((pod) => pod.uid));
  // Room that these pods were promised is not taken: each of them is checked by itself.
  const around = await checker.nodesAround(node, clock, neverStopping);
  const nodes = around.map((each) =>
    each.uid === node.uid
      ? { ...each, promisedPods: each.promisedPods.filter((pod) => !uids.has(pod.uid)) }
      : each,
  );
  const check = checker.asOfNow();
  const fit = (some: readonly Pod[]): boolean =>
    check({
      bin: {
        nodeName: node.name,
        nodeUid: node.uid,
        podUids: some.map((pod) => pod.uid),
        topologyGroups: [],
      },
      pods: some,
      nodes,
      beside: { newNodes: [], placements: [] },
    }).length === 0;
  if (fit(pods)) return pods;
  return pods.reduce<readonly Pod[]>(
    (kept, pod) => (fit([...kept, pod]) ? [...kept, pod] : kept),
    [],
  );
}

/** The writer that ends promises, and the outlets that tell of it. */
export type ReleaseDeps = {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly promises: Pick<PromiseWriter, 'release'>;
};

/** Takes pods that do not fit on a node out of the promise that keeps them there. */
export async function releaseUnfit(
  { log, metrics, promises }: ReleaseDeps,
  { node, holder }: { readonly node: Node; readonly holder: PromiseHolder },
  pods: readonly Pod[],
): Promise<void> {
  for (const pod of pods) {
    log.warn('placement-broken', 'a planned pod no longer fits its node; it is planned again', {
      node: node.name,
      pod: `${pod.namespace}/${pod.name}`,
    });
    metrics.count('dovetail_placements_total', { outcome: 'broken' });
  }
  await promises.release(holder, pods);
}
