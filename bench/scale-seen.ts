import {
  type KubeApi,
  type KubeObject,
  type KubeResource,
  kubeResources,
} from '@dovetail/core-ports';

/** The pods of one deployment: how many exist, how many run, and when the last one appeared. */
type PodsSeen = { readonly all: number; readonly running: number; readonly lastMs: number };

/** A node: the instance under it, and the time at which it was tainted for its end. */
export type NodeSeen = {
  readonly instanceId: string;
  taintedMs?: number;
  /** Present once the node is gone. */
  goneMs?: number;
};

/** The state of a cluster by one watch each, in this process' monotonic time. */
export type ScaleSeen = {
  /** Pods by the label `app`. */
  pods(app: string): PodsSeen;
  /** Claims that were first seen at this time or later: their number, and the last of them. */
  claimsSince(sinceMs: number): { readonly number: number; readonly lastMs: number };
  readonly nodes: ReadonlyMap<string, NodeSeen>;
  stop(): Promise<void>;
};

type PodLike = KubeObject & { readonly status?: { readonly phase?: string } };
type NodeLike = KubeObject & {
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: readonly { readonly key: string }[];
  };
};
type Pod = { readonly uid: string; readonly app: string; readonly running: boolean };
type Node = { readonly name: string; readonly instanceId: string; readonly tainted: boolean };

const podOf = ({ metadata, status }: PodLike): Pod => ({
  uid: metadata.uid ?? '',
  app: metadata.labels?.['app'] ?? '',
  running: status?.phase === 'Running',
});

const nodeOf = ({ metadata, spec }: NodeLike): Node => ({
  name: metadata.name,
  instanceId: spec?.providerID?.split('/').at(-1) ?? '',
  tainted: spec?.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true,
});

/** The pods of one deployment by UID: whether each runs. */
class Pods {
  readonly #apps = new Map<string, { running: Map<string, boolean>; lastMs: number }>();
  readonly #appOf = new Map<string, string>();

  set({ uid, app, running }: Pod): void {
    const of = this.#apps.get(app) ?? { running: new Map<string, boolean>(), lastMs: 0 };
    if (!of.running.has(uid)) of.lastMs = performance.now();
    of.running.set(uid, running);
    this.#apps.set(app, of);
    this.#appOf.set(uid, app);
  }

  delete(uid: string): void {
    this.#apps.get(this.#appOf.get(uid) ?? '')?.running.delete(uid);
    this.#appOf.delete(uid);
  }

  of(app: string): PodsSeen {
    const of = this.#apps.get(app);
    if (of === undefined) return { all: 0, running: 0, lastMs: 0 };
    const running = [...of.running.values()].filter(Boolean).length;
    return { all: of.running.size, running, lastMs: of.lastMs };
  }
}

/** Nodes by name, with the ones that are gone. */
class Nodes {
  readonly byName = new Map<string, NodeSeen>();
  readonly #nameOf = new Map<string, string>();

  set(uid: string, { name, instanceId, tainted }: Node): void {
    const seen = this.byName.get(name) ?? { instanceId };
    if (tainted) seen.taintedMs ??= performance.now();
    this.byName.set(name, seen);
    this.#nameOf.set(uid, name);
  }

  delete(uid: string): void {
    const seen = this.byName.get(this.#nameOf.get(uid) ?? '');
    if (seen !== undefined) seen.goneMs ??= performance.now();
  }
}

/** Follows one resource by a watch until `stop`. */
const followerOf =
  (kube: KubeApi, stop: AbortSignal) =>
  async <T>(
    resource: KubeResource,
    project: (object: KubeObject) => T,
    on: { set(uid: string, value: T): void; gone?(uid: string): void },
  ): Promise<void> => {
    const valued = (object: KubeObject) => ({
      uid: object.metadata.uid ?? '',
      value: project(object),
    });
    for await (const event of kube.watch({ resource, project: valued }, stop)) {
      if (event.kind === 'set') on.set(event.value.uid, event.value.value);
      if (event.kind === 'gone') on.gone?.(event.uid);
    }
  };

/** Watches pods, claims and nodes until it is stopped. */
export function watchScale(kube: KubeApi): ScaleSeen {
  const stop = new AbortController();
  const pods = new Pods();
  const nodes = new Nodes();
  const claims = new Map<string, number>();
  const follow = followerOf(kube, stop.signal);
  const following = [
    follow(kubeResources.pods, podOf, {
      set: (_uid, pod) => pods.set(pod),
      gone: (uid) => pods.delete(uid),
    }),
    follow(kubeResources.nodes, nodeOf, {
      set: (uid, node) => nodes.set(uid, node),
      gone: (uid) => nodes.delete(uid),
    }),
    follow(kubeResources.nodeClaims, () => performance.now(), {
      set: (uid, atMs) => void (claims.has(uid) || claims.set(uid, atMs)),
    }),
  ];
  return {
    pods: (app) => pods.of(app),
    claimsSince(sinceMs) {
      const since = [...claims.values()].filter((atMs) => atMs >= sinceMs);
      return { number: since.length, lastMs: since.reduce((a, b) => Math.max(a, b), 0) };
    },
    nodes: nodes.byName,
    async stop() {
      stop.abort();
      await Promise.all(following);
    },
  };
}
