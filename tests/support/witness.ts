import { type KubeObject, type KubeResource, kubeResources, Stopper } from '@dovetail/core-ports';

import type { TestWorld } from './world.js';

/** A pod as a witness saw it. Places count all pods in the order in which something happened. */
export type PodLife = {
  readonly name: string;
  /** Its place among the creations. */
  readonly made: number;
  /** Its place among the pods that began to run; undefined if it never ran. */
  ran: number | undefined;
  /** How many pods that were made after it ran before it, while it waited. */
  overtaken: number;
  readonly millicores: number;
  isGone: boolean;
};

/** A NodeClaim as a witness saw it. */
export type ClaimLife = {
  readonly name: string;
  /** Every instance that its status ever named. */
  readonly instances: Set<string>;
  /** Every node that its status ever named. */
  readonly nodes: Set<string>;
  /** Why it was to go, if it ever was. */
  readonly doomed: Set<string>;
};

type Status = {
  readonly providerID?: string;
  readonly nodeName?: string;
  readonly phase?: string;
  readonly allocatable?: { readonly cpu?: string };
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
};
const statusOf = (object: KubeObject): Status => object['status'] ?? {};

/** Sees what pods, claims and nodes of a test go through, from its making until it is closed. */
export class Witness {
  readonly #pods = new PodLives();
  readonly #claims = new Map<string, ClaimLife>();
  /** The names of nodes that were deleted, or had the taint of a retirement. */
  readonly doomedNodes = new Set<string>();
  /** The room of nodes for pods, in millicores, by the name of the node. */
  readonly roomOfNodes = new Map<string, number>();
  readonly #stop = new Stopper();
  readonly #watching: Promise<unknown>;

  constructor({ kube }: TestWorld) {
    const { pods, nodeClaims, nodes } = kubeResources;
    const watch = async (resource: KubeResource, eyes: Eyes): Promise<void> => {
      const project = (object: KubeObject): KubeObject => object;
      for await (const event of kube.watch({ resource, project }, this.#stop)) {
        if (event.kind === 'set') eyes.see(event.value);
        if (event.kind === 'gone') eyes.miss(event.uid, event.name);
      }
    };
    this.#watching = Promise.all([
      watch(pods, this.#pods),
      watch(nodeClaims, {
        see: (claim) => seeClaim(this.#claims, claim),
        miss: (uid) => this.#claims.get(uid)?.doomed.add('gone'),
      }),
      watch(nodes, {
        see: (node) => this.#seeNode(node),
        miss: (_uid, name) => this.doomedNodes.add(name),
      }),
    ]);
  }

  /** By UID. */
  get pods(): ReadonlyMap<string, PodLife> {
    return this.#pods.all;
  }

  /** By UID. */
  get claims(): ReadonlyMap<string, ClaimLife> {
    return this.#claims;
  }

  /** The most that pods requested at any one time, in millicores. */
  get peakMillicores(): number {
    return this.#pods.peakMillicores;
  }

  /** The number of pods that wait now. */
  waiting(): number {
    return this.#pods.waiting().length;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  #seeNode(node: KubeObject): void {
    const { name } = node.metadata;
    this.roomOfNodes.set(name, millicoresOf(statusOf(node).allocatable?.cpu ?? '0'));
    if (isDoomed(node)) this.doomedNodes.add(name);
  }
}

type Eyes = { see(object: KubeObject): void; miss(uid: string, name: string): void };

class PodLives implements Eyes {
  readonly all = new Map<string, PodLife>();
  peakMillicores = 0;
  #made = 0;
  #ran = 0;

  see(pod: KubeObject): void {
    if (pod.metadata.namespace !== 'default') return;
    const life = this.#lifeOf(pod);
    if (statusOf(pod).phase === 'Running' && life.ran === undefined) {
      life.ran = this.#ran;
      this.#ran += 1;
      for (const other of this.waiting()) if (other.made < life.made) other.overtaken += 1;
    }
    if (pod.metadata.deletionTimestamp !== undefined) life.isGone = true;
  }

  miss(uid: string): void {
    const life = this.all.get(uid);
    if (life !== undefined) life.isGone = true;
  }

  waiting(): readonly PodLife[] {
    return [...this.all.values()].filter(({ ran, isGone }) => ran === undefined && !isGone);
  }

  #lifeOf(pod: KubeObject): PodLife {
    const { uid = '', name } = pod.metadata;
    const known = this.all.get(uid);
    if (known !== undefined) return known;
    const millicores = requestedMillicores(pod);
    const life = {
      name,
      made: this.#made,
      ran: undefined,
      overtaken: 0,
      millicores,
      isGone: false,
    };
    this.#made += 1;
    this.all.set(uid, life);
    const wanted = [...this.all.values()].filter(({ isGone }) => !isGone);
    const now = wanted.reduce((sum, each) => sum + each.millicores, 0);
    this.peakMillicores = Math.max(this.peakMillicores, now);
    return life;
  }
}

function seeClaim(claims: Map<string, ClaimLife>, claim: KubeObject): void {
  const { uid = '', name, deletionTimestamp } = claim.metadata;
  const life = claims.get(uid) ?? {
    name,
    instances: new Set<string>(),
    nodes: new Set<string>(),
    doomed: new Set<string>(),
  };
  claims.set(uid, life);
  const { providerID = '', nodeName = '', conditions = [] } = statusOf(claim);
  if (providerID !== '') life.instances.add(providerID.split('/').at(-1) ?? '');
  if (nodeName !== '') life.nodes.add(nodeName);
  if (deletionTimestamp !== undefined) life.doomed.add('deleted');
  for (const { type, status } of conditions)
    if (/^(Drifted|DisruptionReason)$/.test(type) && status === 'True') life.doomed.add(type);
}

function isDoomed(node: KubeObject): boolean {
  const { taints = [] } = (node['spec'] ?? {}) as {
    readonly taints?: readonly { readonly key: string }[];
  };
  return (
    node.metadata.deletionTimestamp !== undefined ||
    taints.some(({ key }) => key === 'karpenter.sh/disrupted')
  );
}

const millicoresOf = (cpu: string): number =>
  cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000;

function requestedMillicores(pod: KubeObject): number {
  type Requests = { readonly resources?: { readonly requests?: { readonly cpu?: string } } };
  const { containers = [] } = (pod['spec'] ?? {}) as { readonly containers?: readonly Requests[] };
  return containers.reduce(
    (sum, each) => sum + millicoresOf(each.resources?.requests?.cpu ?? '0'),
    0,
  );
}
