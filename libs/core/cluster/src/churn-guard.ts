import type { Pool } from '@dovetail/core-api';
import { fits, type Pod, type Resources } from '@dovetail/core-kube-model';

import type { Cluster, ClusterChange } from './cluster.js';
import { classKey } from './kinds.js';

/** The most nodes of one size before a wait: the first failure may have been bad luck. */
const triesMax = 2;
/**
 * The first wait before another node of the size, and the longest. An hour's waste per hour is one
 * node; a minute is less than a node takes to start and end.
 */
const [waitMs, waitMaxMs] = [60_000, 3_600_000];

/** A node that was admitted for a pod. */
export type Attempt = {
  readonly claimName: string;
  readonly atMs: number;
  /** The least room that the node's options offer. */
  readonly offers: Resources;
  /** A digest of pool, class and daemonsets at that time. */
  readonly circumstances: string;
};

/** Why a pod is given no further node now. */
export type Churn = {
  /** Claims of this size that were bought for the pod, the oldest first. */
  readonly claims: readonly string[];
  readonly untilMs: number;
};

/**
 * Whether a pod that came back from these bought nodes is to wait before it is given the next. It
 * waits after two of the same size or larger, twice as long after each further one. Nodes that were
 * bought under other circumstances do not count, and neither do smaller ones.
 */
export function churnOf(
  bought: readonly Attempt[],
  next: Pick<Attempt, 'offers' | 'circumstances'>,
  nowMs: number,
): Churn | undefined {
  const alike = bought.filter(
    ({ offers, circumstances }) =>
      circumstances === next.circumstances && fits(next.offers, offers),
  );
  if (alike.length < triesMax) return undefined;
  const lastMs = Math.max(...alike.map(({ atMs }) => atMs));
  const untilMs = lastMs + Math.min(waitMaxMs, waitMs * 2 ** (alike.length - triesMax));
  return untilMs <= nowMs
    ? undefined
    : { claims: alike.map(({ claimName }) => claimName), untilMs };
}

/** Pods of one owner that ask for the same are tries of the same thing. */
const ownerKey = ({ owner, requests }: Pod): string | undefined =>
  owner === undefined ? undefined : `${owner.uid}/${JSON.stringify(requests)}`;

const podKey = ({ uid, requests }: Pod): string => `${uid}/${JSON.stringify(requests)}`;

/**
 * Remembers the nodes that were bought for pods that do not run. A pod that runs is forgotten. One
 * that a kubelet refused, or that went with its node, leaves its nodes to its owner's next pod.
 */
export class ChurnGuard {
  readonly #cluster: Cluster;
  /** By pod or owner, with what they ask for. */
  readonly #attempts = new Map<string, readonly Attempt[]>();
  /** Names of claims that EC2 launched an instance for. */
  readonly #bought = new Set<string>();
  /** The daemonsets as text, and a number that stands for the text. */
  #daemons: { readonly revision: number; readonly text: string; readonly number: number } = {
    revision: -1,
    text: '',
    number: 0,
  };

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** A node of this pool was admitted for the pods, which share one record of it. */
  admitted(pods: readonly Pod[], pool: Pool, attempt: Omit<Attempt, 'circumstances'>): void {
    const made = { ...attempt, circumstances: this.#circumstances(pool) };
    for (const pod of pods) this.#attempts.set(podKey(pod), [...this.#of(podKey(pod)), made]);
  }

  /** Why the pod gets no node of the pool with this room now; undefined when it may have one. */
  holds(
    pod: Pod,
    next: { readonly pool: Pool; readonly offers: Resources },
    nowMs: number,
  ): Churn | undefined {
    const owner = ownerKey(pod);
    const attempts = byClaim([...this.#of(owner), ...this.#of(podKey(pod))]).filter(
      ({ claimName }) => this.#bought.has(claimName),
    );
    return attempts.length < triesMax
      ? undefined
      : churnOf(
          attempts,
          { offers: next.offers, circumstances: this.#circumstances(next.pool) },
          nowMs,
        );
  }

  /** Takes a change of the cluster. */
  heard(change: ClusterChange): void {
    if (change.kind === 'claim' && change.after?.providerId !== undefined) this.#buy(change.name);
    if (change.kind !== 'pod') return;
    const { before, after } = change;
    const last = after ?? before;
    if (last === undefined) return;
    if (last.phase === 'Running' || last.phase === 'Succeeded') this.#runs(last);
    else if (last.phase === 'Failed') this.#fails(last);
    else if (after !== undefined && after.deletionMs === undefined) return;
    // Its node fell silent or was taken away. A pod that was never bound has tried nothing.
    else if (last.nodeName !== undefined) this.#fails(last);
    else if (after === undefined) this.#attempts.delete(podKey(last));
  }

  #buy(claimName: string): void {
    this.#bought.add(claimName);
    for (const oldest of this.#bought) {
      if (this.#bought.size <= claimsMax) return;
      this.#bought.delete(oldest);
    }
  }

  #runs(pod: Pod): void {
    this.#attempts.delete(podKey(pod));
    const owner = ownerKey(pod);
    if (owner !== undefined) this.#attempts.delete(owner);
  }

  /** A bound pod that ends without having run leaves its tries to its owner's next pod. */
  #fails(pod: Pod): void {
    const held = this.#of(podKey(pod));
    this.#attempts.delete(podKey(pod));
    const owner = ownerKey(pod);
    if (owner === undefined || held.length === 0) return;
    this.#attempts.set(owner, byClaim([...this.#of(owner), ...held]).slice(-attemptsMax));
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= claimsMax) return;
      this.#attempts.delete(oldest);
    }
  }

  #of(key: string | undefined): readonly Attempt[] {
    return key === undefined ? [] : (this.#attempts.get(key) ?? []).slice(-attemptsMax);
  }

  /** Short, because each attempt keeps its own: daemonsets are a number that changes with them. */
  #circumstances({ identity, generation, classRef }: Pool): string {
    const nodeClass = this.#cluster.nodeClasses.one('key', classKey(classRef));
    this.#readDaemons();
    return [
      identity.kind,
      identity.name,
      generation,
      nodeClass?.generation ?? '',
      this.#daemons.number,
    ].join();
  }

  #readDaemons(): void {
    const { daemonSets } = this.#cluster;
    const { revision, text: before, number } = this.#daemons;
    if (revision === daemonSets.revision) return;
    const text = [...daemonSets.values()]
      .map(({ uid, template }) =>
        JSON.stringify([uid, template.requests, template.nodeSelector, template.tolerations]),
      )
      .sort()
      .join();
    this.#daemons = {
      revision: daemonSets.revision,
      text,
      number: text === before ? number : number + 1,
    };
  }
}

/** The last attempt of each claim: the pods of one node are one node that was bought. */
const byClaim = (attempts: readonly Attempt[]): readonly Attempt[] => [
  ...new Map(attempts.map((one) => [one.claimName, one])).values(),
];

/** Claims and pods that are remembered: far more than fail at the same time in any cluster. */
const claimsMax = 100_000;
/** After as many the longest wait is reached. */
const attemptsMax = 16;
