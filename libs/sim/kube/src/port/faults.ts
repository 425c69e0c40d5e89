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
  #faults: { readonly fault: KubeFault; left: number }[] = [];

  /** Makes the next calls that the fault concerns fail. */
  order(fault: KubeFault): void {
    if (fault.times > 0) this.#faults.push({ fault, left: fault.times });
  }

  /** Ends all faults; late watches go on. */
  clear(): void {
    this.#faults = [];
    this.watches.resume();
  }

  /** Whether a fault is still to come. */
  pending(): boolean {
    return this.#faults.length > 0 || this.watches.stalled();
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
