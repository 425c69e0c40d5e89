import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The memory of objects, or the CPU time of a pass over all of them. */
export type StoreRow =
  | { readonly kind: 'memory'; readonly what: string; readonly number: number; readonly mb: number }
  | { readonly kind: 'pass'; readonly what: string; readonly cpuMs: readonly number[] };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of live objects, once all garbage is gone. */
function liveBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** Measures one service's state in this process: live memory, and CPU time of this process. */
export class Measure {
  readonly rows: StoreRow[] = [];
  #bytes = liveBytes();

  /** The growth of live memory since the last call is that of so many objects. */
  grew(what: string, number: number): void {
    const before = this.#bytes;
    this.#bytes = liveBytes();
    this.rows.push({ kind: 'memory', what, number, mb: round((this.#bytes - before) / 1e6) });
  }

  /** Does the work as often as said and answers its last result. CPU time counts, not waiting. */
  pass<T>(what: string, times: number, work: (turn: number) => T): T {
    const results: T[] = [];
    const cpuMs: number[] = [];
    for (let turn = 0; turn < times; turn += 1) {
      const before = process.cpuUsage();
      results[0] = work(turn);
      const { user, system } = process.cpuUsage(before);
      cpuMs.push(round((user + system) / 1_000));
    }
    this.rows.push({ kind: 'pass', what, cpuMs });
    return results[0] as T;
  }
}
