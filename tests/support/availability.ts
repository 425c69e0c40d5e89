import { taints } from '@dovetail/core-api';
import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';

import { eventually, type TestWorld } from './world.js';

/** The values that a watch has seen, without a gap, so that even a moment's state is included. */
export type Watched = { close(): Promise<void> };
type Seen =
  | { readonly kind: 'set'; readonly object: KubeObject }
  | { readonly kind: 'gone'; readonly uid: string };

/** Watches until closed. Returns once every existing object has been seen. */
async function watchAll(
  at: TestWorld,
  selection: { readonly resource: KubeResource; readonly labelSelector?: string },
  on: (seen: Seen) => void,
  onSynced: () => void,
): Promise<Watched> {
  const stop = new AbortController();
  let synced = false;
  const watching = (async () => {
    for await (const event of at.kube.watch(
      { ...selection, project: (object) => object },
      stop.signal,
    )) {
      if (event.kind === 'set') on({ kind: 'set', object: event.value });
      else if (event.kind === 'gone') on(event);
      else {
        onSynced();
        synced = true;
      }
    }
  })();
  await Promise.race([
    watching,
    eventually(`everything of ${selection.resource.plural} to be seen once`, () => synced),
  ]);
  return {
    close: () => {
      stop.abort();
      return watching;
    },
  };
}

type PodStatus = {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
};
const isReady = (pod: KubeObject): boolean =>
  ((pod['status'] as PodStatus | undefined)?.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );

/**
 * A pod is available, as disruption budgets count, if it is ready and not being deleted. `fewest`
 * is the least count at any moment since the watch began.
 */
export async function watchAvailable(
  at: TestWorld,
  labelSelector: string,
): Promise<Watched & { fewest(): number; now(): number }> {
  const available = new Set<string>();
  let fewest: number | undefined;
  const watched = await watchAll(
    at,
    { resource: kubeResources.pods, labelSelector },
    (seen) => {
      const uid = seen.kind === 'gone' ? seen.uid : (seen.object.metadata.uid ?? '');
      if (
        seen.kind === 'set' &&
        isReady(seen.object) &&
        seen.object.metadata.deletionTimestamp === undefined
      )
        available.add(uid);
      else available.delete(uid);
      if (fewest !== undefined) fewest = Math.min(fewest, available.size);
    },
    () => {
      fewest ??= available.size;
    },
  );
  return { ...watched, fewest: () => fewest ?? 0, now: () => available.size };
}

type NodeSpec = {
  readonly unschedulable?: boolean;
  readonly taints?: readonly { readonly key: string; readonly effect: string }[];
};

/**
 * Names of the nodes that were closed to new pods, by cordon or by the matching taint, and of those
 * that went.
 */
export async function watchNodes(
  at: TestWorld,
): Promise<Watched & { readonly closed: ReadonlySet<string>; readonly gone: ReadonlySet<string> }> {
  const [names, closed, gone] = [new Map<string, string>(), new Set<string>(), new Set<string>()];
  const watched = await watchAll(
    at,
    { resource: kubeResources.nodes },
    (seen) => {
      if (seen.kind === 'gone') {
        gone.add(names.get(seen.uid) ?? '');
        return;
      }
      const {
        metadata: { uid = '', name },
        spec,
      } = seen.object as KubeObject & { readonly spec?: NodeSpec };
      names.set(uid, name);
      if (
        spec?.unschedulable === true ||
        spec?.taints?.some(
          ({ key, effect }) => key === taints.disrupted.key && effect === taints.disrupted.effect,
        ) === true
      )
        closed.add(name);
    },
    () => undefined,
  );
  return { ...watched, closed, gone };
}
