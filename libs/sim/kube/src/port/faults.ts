import { at } from '@dovetail/core-invariant';
import {
  type KubeApi,
  KubeError,
  type KubeObject,
  type Patch,
  type StopSignal,
} from '@dovetail/core-ports';

import { BrokenWatches } from './broken-watches.js';

/**
 * A failure of the next calls of one client. `conflict` (409): someone else has just changed the
 * object, so only guarded writes fail. `throttle` (429): nothing happens. `unavailable` (5xx):
 * nothing happens, or (`after`) all does and the answer is lost.
 */
export type KubeFault =
  | { readonly kind: 'conflict' | 'throttle'; readonly times: number }
  | { readonly kind: 'unavailable'; readonly when: 'before' | 'after'; readonly times: number };

type Call = (...given: readonly never[]) => Promise<unknown>;
const calls = ['list', 'get', 'create', 'replace', 'patch', 'delete', 'evict', 'bind'] as const;
type CallName = (typeof calls)[number];

/** Whether the write is guarded by the version that it was decided on. */
function isGuarded(name: CallName, [, second]: readonly unknown[]): boolean {
  if (name === 'replace') return (second as KubeObject).metadata.resourceVersion !== undefined;
  if (name !== 'patch') return false;
  const { type, body } = second as Patch;
  if (type === 'json') return body.some(({ op }) => op === 'test');
  return (
    (body as { readonly metadata?: { readonly resourceVersion?: string } }).metadata
      ?.resourceVersion !== undefined
  );
}

const seconds = 1;

const turns: readonly KubeFault[] = [
  { kind: 'unavailable', when: 'before', times: 1 },
  { kind: 'conflict', times: 1 },
  { kind: 'unavailable', when: 'after', times: 1 },
  { kind: 'throttle', times: 1 },
];

function errorOf({ kind }: KubeFault): KubeError {
  if (kind === 'conflict')
    return new KubeError('conflict', 'Conflict: the object has been modified (ordered)');
  return kind === 'throttle'
    ? new KubeError('too-many-requests', 'TooManyRequests: ordered', { retryAfterSeconds: seconds })
    : new KubeError('unavailable', 'ServiceUnavailable: ordered');
}

/** The faults between one client and the API server, for tests and simulation. */
export class KubeFaults {
  /** Watches that are late, or break. */
  readonly watches = new BrokenWatches();
  #faults: { readonly fault: KubeFault; left: number; readonly isTold: boolean }[] = [];
  #every = Infinity;
  #called = 0;
  #spoilt = 0;

  /** Makes the next calls that the fault concerns fail. */
  order(fault: KubeFault): void {
    if (fault.times > 0) this.#faults.push({ fault, left: fault.times, isTold: true });
  }

  /**
   * From now on one in so many calls is spoilt, by each fault in turn, until `clear`. No fault is
   * pending through it: a client must bear this at any time.
   */
  every(calls: number): void {
    this.#every = calls;
  }

  /** Ends all faults; late watches go on. */
  clear(): void {
    this.#every = Infinity;
    this.#faults = [];
    this.watches.resume();
  }

  /** Whether a fault is still to come. */
  pending(): boolean {
    return this.#faults.some(({ isTold }) => isTold) || this.watches.stalled();
  }

  /** The client's ports, with these faults. */
  over(kube: KubeApi): KubeApi {
    const faulty = Object.fromEntries(
      calls.map((name) => [name, this.#call(name, kube[name].bind(kube) as Call)]),
    ) as Pick<KubeApi, CallName>;
    return {
      ...kube,
      ...faulty,
      watch: (options, stop: StopSignal) => this.watches.watch(kube, options, stop),
    };
  }

  #call(name: CallName, act: Call): Call {
    return async (...given) => {
      this.#orderInTurn();
      const before = this.#take(
        (fault) => !isLate(fault) && (fault.kind !== 'conflict' || isGuarded(name, given)),
      );
      if (before !== undefined) throw errorOf(before);
      const result = await act(...given);
      const after = this.#take(isLate);
      if (after !== undefined) throw errorOf(after);
      return result;
    };
  }

  /** Orders the next fault in turn, if this call is one to be spoilt. */
  #orderInTurn(): void {
    this.#called += 1;
    if (this.#called % this.#every !== 0) return;
    this.#faults.push({ fault: at(turns, this.#spoilt % turns.length), left: 1, isTold: false });
    this.#spoilt += 1;
  }

  #take(concerns: (fault: KubeFault) => boolean): KubeFault | undefined {
    const found = this.#faults.find(({ fault }) => concerns(fault));
    if (found === undefined) return undefined;
    found.left -= 1;
    this.#faults = this.#faults.filter(({ left }) => left > 0);
    return found.fault;
  }
}

const isLate = (fault: KubeFault): boolean =>
  fault.kind === 'unavailable' && fault.when === 'after';
