import { setTimeout as delay } from 'node:timers/promises';

import { type KubeApi, type KubeObject, kubeResources } from '@dovetail/core-ports';

import { percentile } from '../observed.js';

/** The cost of a day, and how its pods fared. */
export type DayMeasured = {
  /** Seconds of every instance that ran, times its price. */
  readonly dollars: number;
  /** From the creation of each pod to its running or its end, summed up. */
  readonly podSecondsPending: number;
  /** Milliseconds until half of the pods were bound and ran, and nine in ten. */
  readonly boundMs: Halves;
  readonly runningMs: Halves;
  readonly pods: number;
  /** Pods that the Eviction API ended: drains of all kinds. */
  readonly evictions: number;
  /** Pods that went because their node was gone. */
  readonly lost: number;
  readonly instances: number;
  readonly instancesMost: number;
  /** Pods without a node at the end of the day. */
  readonly pendingAtEnd: number;
};

type Halves = { readonly p50: number; readonly p90: number };

type PodLike = KubeObject & {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[];
  };
};

type PodSeen = {
  readonly createdMs: number;
  readonly boundMs?: number;
  /** When it ran or was gone. */
  readonly endedMs?: number;
  readonly cause?: string;
};

const halvesOf = (values: readonly number[]): Halves => ({
  p50: Math.round(percentile(values, 0.5)),
  p90: Math.round(percentile(values, 0.9)),
});

/** The seconds that pods spent pending, and why they ended, by one watch. */
class Pods {
  readonly #seen = new Map<string, PodSeen>();

  set({ metadata: { uid = '' }, spec, status }: PodLike): void {
    const nowMs = performance.now();
    const seen = this.#seen.get(uid) ?? { createdMs: nowMs };
    const cause = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason;
    this.#seen.set(uid, {
      ...seen,
      ...(spec?.nodeName === undefined || seen.boundMs !== undefined ? {} : { boundMs: nowMs }),
      ...(status?.phase === 'Pending' || seen.endedMs !== undefined ? {} : { endedMs: nowMs }),
      ...(cause === undefined ? {} : { cause }),
    });
  }

  gone(uid: string): void {
    const seen = this.#seen.get(uid);
    if (seen !== undefined && seen.endedMs === undefined)
      this.#seen.set(uid, { ...seen, endedMs: performance.now() });
  }

  measured(): Omit<DayMeasured, 'dollars' | 'instances' | 'instancesMost'> {
    const nowMs = performance.now();
    const all = [...this.#seen.values()];
    const pendingMs = all.reduce(
      (sum, { createdMs, endedMs = nowMs }) => sum + endedMs - createdMs,
      0,
    );
    return {
      boundMs: halvesOf(
        all.flatMap(({ createdMs, boundMs }) =>
          boundMs === undefined ? [] : [boundMs - createdMs],
        ),
      ),
      runningMs: halvesOf(
        all.flatMap(({ createdMs, endedMs }) =>
          endedMs === undefined ? [] : [endedMs - createdMs],
        ),
      ),
      pods: all.length,
      podSecondsPending: Math.round(pendingMs / 1_000),
      evictions: all.filter(({ cause }) => cause === 'EvictionByEvictionAPI').length,
      lost: all.filter(({ cause }) => cause === 'DeletionByPodGC').length,
      pendingAtEnd: all.filter(({ endedMs }) => endedMs === undefined).length,
    };
  }
}

/** An instance of the cloud twin, as its control API shows it. */
export type InstanceSeen = {
  readonly instanceId: string;
  readonly state: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly hourlyPriceMicros?: number;
};

/** EC2 bills an instance while it runs. */
const isBilled = ({ state }: InstanceSeen): boolean => state === 'running';

export async function instancesOf(cloudUrl: string): Promise<readonly InstanceSeen[]> {
  const answer = await fetch(`${cloudUrl}/_twin/instances`);
  if (!answer.ok) throw new Error(`GET instances: ${answer.status}`);
  return (await answer.json()) as readonly InstanceSeen[];
}

/** The bill: a look at all instances every second. */
class Bill {
  #microDollarHours = 0;
  #lastMs = performance.now();
  #most = 0;
  readonly #ever = new Set<string>();

  add(instances: readonly InstanceSeen[]): void {
    const nowMs = performance.now();
    const hours = (nowMs - this.#lastMs) / 3_600_000;
    this.#lastMs = nowMs;
    const billed = instances.filter(isBilled);
    this.#most = Math.max(this.#most, billed.length);
    for (const { instanceId, hourlyPriceMicros = 0 } of billed) {
      this.#ever.add(instanceId);
      this.#microDollarHours += hours * hourlyPriceMicros;
    }
  }

  measured(): Pick<DayMeasured, 'dollars' | 'instances' | 'instancesMost'> {
    return {
      dollars: this.#microDollarHours / 1_000_000,
      instances: this.#ever.size,
      instancesMost: this.#most,
    };
  }
}

/** Measures a day until it is stopped. */
export type DayMeter = { stop(): Promise<void>; measured(): DayMeasured };

export function meterDay(at: { readonly kube: KubeApi; readonly cloudUrl: string }): DayMeter {
  const stop = new AbortController();
  const { signal } = stop;
  const [pods, bill] = [new Pods(), new Bill()];
  const follow = async (): Promise<void> => {
    const resource = kubeResources.pods;
    for await (const event of at.kube.watch({ resource, project: (object) => object }, signal)) {
      if (event.kind === 'gone') pods.gone(event.uid);
      if (event.kind === 'set' && event.value.metadata.namespace === 'default')
        pods.set(event.value);
    }
  };
  const look = async (): Promise<void> => {
    while (!signal.aborted) {
      bill.add(await instancesOf(at.cloudUrl));
      await delay(1_000, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = Promise.all([follow(), look()]);
  return {
    async stop() {
      stop.abort();
      await running;
    },
    measured: () => ({ ...bill.measured(), ...pods.measured() }),
  };
}
