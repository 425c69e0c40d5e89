import type {
  AdmissionHead,
  PodPromise,
  StateKind,
  StateRecord,
  StateValue,
  Verdict,
} from '@dovetail/contracts';
import { Fleet, type FleetNode, podUseOf } from '@dovetail/core-fleet';
import { compareText, type Pod } from '@dovetail/core-kube-model';
import { untriedWords, type WaitingWords, waitingWords, withBinder } from '@dovetail/service-kit';

import type { WaitingRow } from '../view/frames.js';

/** The kinds of the state feed that the board reads. */
export const boardKinds = [
  'pod',
  'node',
  'claim',
  'pool',
  'promise',
  'verdict',
  'admission',
] as const satisfies readonly StateKind[];

/** The kinds that pod-watcher publishes. Their generation begins with its epoch. */
const watchedKinds: ReadonlySet<StateKind> = new Set(['pod', 'node', 'claim', 'pool']);

/** The words of a decision about a pod, and when it was made. */
export type PodWords = WaitingWords & { readonly atMs: number };

/** The cluster by the state feed: nodes as they fill, and the pods that wait for one. */
export class ClusterBoard {
  readonly #fleet = new Fleet();
  readonly #waiting = new Map<string, Pod>();
  readonly #verdicts = new Map<string, Verdict>();
  readonly #promises = new Map<string, PodPromise>();
  #admission: AdmissionHead | undefined;
  #watcherEpoch: number | undefined;
  #lastMs: number | undefined;

  /** The last admission, of the launcher. Undefined: none was published. */
  get admission(): AdmissionHead | undefined {
    return this.#admission;
  }

  /** The epoch of the pod-watcher that published last. */
  get watcherEpoch(): number | undefined {
    return this.#watcherEpoch;
  }

  /** When the bus took the last record of the feed. */
  get lastMs(): number | undefined {
    return this.#lastMs;
  }

  /** Takes a record of the state feed, which the bus took at a time. */
  take(record: StateRecord, timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs ?? 0, timeMs);
    const kind = record.kind === 'set' ? record.state.kind : record.stateKind;
    if (watchedKinds.has(kind)) this.#watcherEpoch = epochOf(record) ?? this.#watcherEpoch;
    if (record.kind === 'set') this.#set(record.uid, record.state);
    else this.#drop(kind, record.uid);
  }

  /** The nodes, in no order. */
  nodes(): readonly FleetNode[] {
    return this.#fleet.nodes();
  }

  /** The pools, in the order of their names. */
  pools(): readonly string[] {
    return [...this.#fleet.pools()].sort(compareText);
  }

  /** The number of pods that wait for a node. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /**
   * The pods that wait for a node, the longest wait first, and no more than so many. `decided`
   * knows the last decision about a pod.
   */
  waiting(max: number, decided: (uid: string) => PodWords | undefined): readonly WaitingRow[] {
    const promised = new Map(
      [...this.#promises.values()].flatMap((promise) =>
        promise.podUids.map((uid) => [uid, promise] as const),
      ),
    );
    return [...this.#waiting.values()]
      .sort((a, b) => a.createdMs - b.createdMs || compareText(a.uid, b.uid))
      .slice(0, max)
      .map((pod) => ({
        uid: pod.uid,
        pod: `${pod.namespace}/${pod.name}`,
        sinceMs: pod.createdMs,
        ...wordsOf(pod, promised.get(pod.uid), this.#last(pod.uid, decided)),
      }));
  }

  /** The newer of the verdict on a pod and the last decision about it. */
  #last(uid: string, decided: (uid: string) => PodWords | undefined): WaitingWords | undefined {
    const [verdict, decision] = [this.#verdicts.get(uid), decided(uid)];
    if (verdict === undefined || (decision !== undefined && decision.atMs >= verdict.atMs))
      return decision;
    const isAdmitted = verdict.outcome === 'admitted';
    const summary = isAdmitted ? 'it has a place, and is not bound yet' : verdict.outcome;
    return waitingWords({ reasons: verdict.reasons, summary, isAdmitted });
  }

  #set(uid: string, state: StateValue): void {
    switch (state.kind) {
      case 'pod':
        return this.#setPod(uid, state.value);
      case 'node':
        return this.#fleet.set({ kind: 'node', uid, node: state.value });
      case 'claim':
        return this.#fleet.set({ kind: 'claim', uid, claim: state.value });
      case 'pool':
        return this.#fleet.set({ kind: 'pool', uid, pool: state.value });
      case 'verdict':
        return void this.#verdicts.set(uid, state.value);
      case 'promise':
        return void this.#promises.set(uid, state.value);
      case 'admission':
        this.#admission = state.value;
        return;
      case 'nodeclass':
      case 'daemonset':
      case 'pdb':
      case 'namespace':
      case 'pv':
      case 'pvc':
      case 'storageclass':
      case 'csinode':
        return;
    }
  }

  #setPod(uid: string, pod: Pod): void {
    const use = podUseOf(pod);
    if (use === undefined) this.#fleet.drop('pod', uid);
    else this.#fleet.set({ kind: 'pod', uid, pod: use });
    if (isWaiting(pod)) this.#waiting.set(uid, pod);
    else this.#forgetWaiting(uid);
  }

  #drop(kind: StateKind, uid: string): void {
    if (kind === 'pod' || kind === 'node' || kind === 'claim' || kind === 'pool')
      this.#fleet.drop(kind, uid);
    if (kind === 'pod') this.#forgetWaiting(uid);
    if (kind === 'verdict') this.#verdicts.delete(uid);
    if (kind === 'promise') this.#promises.delete(uid);
    if (kind === 'admission') this.#admission = undefined;
  }

  /** The bus ends a verdict after a while without telling, so it goes with its pod's wait. */
  #forgetWaiting(uid: string): void {
    this.#waiting.delete(uid);
    this.#verdicts.delete(uid);
  }
}

const isWaiting = ({ phase, nodeName, deletionMs }: Pod): boolean =>
  phase === 'Pending' && nodeName === undefined && deletionMs === undefined;

/** The first number of a generation. Undefined: it has none, as for tombstones of the bus. */
function epochOf({ generation }: StateRecord): number | undefined {
  const epoch = Number(generation.split('.')[0]);
  return generation === '' || !Number.isInteger(epoch) ? undefined : epoch;
}

/** Why a pod waits, and who will bind it. */
function wordsOf(
  pod: Pod,
  promise: PodPromise | undefined,
  last: WaitingWords | undefined,
): WaitingWords {
  const words = whyOf(pod, promise, last);
  return words === undefined
    ? { why: untriedWords(pod.schedulerName), codes: [] }
    : { ...words, why: withBinder(words.why, pod.schedulerName) };
}

/**
 * Why a pod waits: by itself, by the room that is kept for it, or by the last decision. Undefined:
 * its scheduler has not tried it.
 */
function whyOf(
  { schedulingGates, nominatedNodeName, unschedulable }: Pod,
  promise: PodPromise | undefined,
  last: WaitingWords | undefined,
): WaitingWords | undefined {
  const own = (why: string): WaitingWords => ({ why, codes: [] });
  if (schedulingGates.length > 0)
    return own(`held by scheduling gate ${schedulingGates.join(', ')}`);
  if (promise !== undefined)
    return own(`its place is kept on ${promise.holderKind} ${promise.holderName}`);
  if (last !== undefined) return last;
  if (nominatedNodeName !== undefined) return own(`waits for pods to leave ${nominatedNodeName}`);
  return unschedulable ? own('waits for a plan') : undefined;
}
