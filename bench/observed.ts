import {
  type KubeApi,
  type KubeObject,
  type KubeResource,
  kubeResources,
} from '@dovetail/core-ports';

/**
 * The times at which a pod reached each state: first seen, reported by the scheduler as
 * unschedulable, and so on.
 */
type PodSeen = {
  readonly createdMs: number;
  judgedMs?: number;
  boundMs?: number;
  runningMs?: number;
};

/**
 * The times at which pods and claims reached each state, by one watch each, on this process'
 * monotonic clock.
 */
export type Observed = {
  readonly pods: ReadonlyMap<string, PodSeen>;
  /** The time at which each claim was first seen, by UID. */
  readonly claims: ReadonlyMap<string, number>;
  /** Pods and claims that exist now. */
  readonly alive: () => { readonly pods: number; readonly claims: number };
  forget(): void;
  stop(): Promise<void>;
};

type PodLike = KubeObject & {
  spec?: { nodeName?: string };
  status?: {
    phase?: string;
    conditions?: readonly { readonly type: string; readonly reason?: string }[];
  };
};

export function observe(kube: KubeApi, namespace: string): Observed {
  const stop = new AbortController();
  const pods = new Map<string, PodSeen>();
  const claims = new Map<string, number>();
  const alive = { pods: new Set<string>(), claims: new Set<string>() };
  const follow = async (
    resource: KubeResource,
    there: Set<string>,
    seen: (object: KubeObject) => void,
  ): Promise<void> => {
    for await (const event of kube.watch({ resource, project: (object) => object }, stop.signal)) {
      if (event.kind === 'gone') there.delete(event.uid);
      if (event.kind !== 'set') continue;
      there.add(event.value.metadata.uid ?? '');
      seen(event.value);
    }
  };
  const following = [
    follow(kubeResources.pods, alive.pods, (object) => {
      if (object.metadata.namespace === namespace) seePod(pods, object);
    }),
    follow(kubeResources.nodeClaims, alive.claims, ({ metadata: { uid = '' } }) => {
      if (!claims.has(uid)) claims.set(uid, performance.now());
    }),
  ];
  return {
    pods,
    claims,
    alive: () => ({ pods: alive.pods.size, claims: alive.claims.size }),
    forget() {
      pods.clear();
      claims.clear();
    },
    async stop() {
      stop.abort();
      await Promise.all(following);
    },
  };
}

function seePod(pods: Map<string, PodSeen>, pod: PodLike): void {
  const uid = pod.metadata.uid ?? '';
  const nowMs = performance.now();
  const seen = pods.get(uid) ?? { createdMs: nowMs };
  pods.set(uid, seen);
  if (
    pod.status?.conditions?.some(
      ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
    ) === true
  )
    seen.judgedMs ??= nowMs;
  if (pod.spec?.nodeName !== undefined) seen.boundMs ??= nowMs;
  if (pod.status?.phase === 'Running') seen.runningMs ??= nowMs;
}

/** The value below which this share lies, by the nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
