import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import { type Context, eventually } from './suite.js';

/** The resources that these tests read. */
export const { pods, nodes, podDisruptionBudgets, daemonSets } = kubeResources;

/** The fields of a pod that these tests look at. */
export type PodShape = KubeObject & {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
};

/** The nodes of these tests, each in its zone. */
export const zones = { w1: 'zone-a', w2: 'zone-b', w3: 'zone-c' } as const;

/** All pods of a namespace. */
export const podsIn = async ({ world }: Context, namespace: string): Promise<readonly PodShape[]> =>
  (await world().kube.list(pods, { namespace })) as readonly PodShape[];

/** The pods that run and are not being deleted. */
export const running = (list: readonly PodShape[]): readonly PodShape[] =>
  list.filter(
    (one) => one.status.phase === 'Running' && one.metadata.deletionTimestamp === undefined,
  );

/** Waits until exactly this many pods are left in a namespace and all run. */
export const runningIn = (
  context: Context,
  namespace: string,
  count: number,
): Promise<readonly PodShape[]> =>
  eventually(
    () => podsIn(context, namespace),
    (list) => running(list).length === count && list.length === count,
  );

/** Messages of the Events with this reason in a namespace. */
export const messagesIn = async (
  { world }: Context,
  namespace: string,
  reason: string,
): Promise<readonly string[]> =>
  (await world().kube.list(kubeResources.events, { namespace }))
    .filter((event) => event['reason'] === reason)
    .map((event) => String(event['message']));
