import { parsePromise, type PromiseAnnotation } from '@dovetail/core-api';

/**
 * The promises that claims and nodes carry, by holder and by promised pod.
 *
 * Invariant: a holder is under a pod's UID exactly when its promise names that pod.
 */
export class PromiseIndex {
  readonly #promises = new Map<string, PromiseAnnotation>();
  readonly #holders = new Map<string, Set<string>>();

  /** Puts the text of a holder's promise annotation; absent or unreadable text ends the promise. */
  set(holderUid: string, text: string | undefined): void {
    this.#unlink(holderUid);
    const promise = parsePromise(text);
    if (promise === undefined) {
      this.#promises.delete(holderUid);
      return;
    }
    this.#promises.set(holderUid, promise);
    for (const podUid of promise.podUids)
      this.#holders.set(podUid, (this.#holders.get(podUid) ?? new Set()).add(holderUid));
  }

  /** The promise of a claim or node, whether it still binds or not. */
  of(holderUid: string): PromiseAnnotation | undefined {
    return this.#promises.get(holderUid);
  }

  /** UIDs of everything that carries a promise. */
  holders(): IterableIterator<string> {
    return this.#promises.keys();
  }

  /** UIDs of the holders whose promise names the pod, in order. */
  holdersOf(podUid: string): readonly string[] {
    const holders = [...(this.#holders.get(podUid) ?? [])];
    return holders.length > 1 ? holders.sort() : holders;
  }

  clear(): void {
    this.#promises.clear();
    this.#holders.clear();
  }

  #unlink(holderUid: string): void {
    for (const podUid of this.#promises.get(holderUid)?.podUids ?? []) {
      const holders = this.#holders.get(podUid);
      holders?.delete(holderUid);
      if (holders?.size === 0) this.#holders.delete(podUid);
    }
  }
}
