import { parsePromise, type PromiseAnnotation } from '@dovetail/core-api';

/**
 * UIDs by another UID, in order. Lists, because nearly all have one member: a set of one takes 200
 * bytes, and the promises of a large cluster name all of its pods.
 */
class UidLists {
  readonly #lists = new Map<string, readonly string[]>();

  add(uid: string, member: string): void {
    const held = this.of(uid);
    if (!held.includes(member)) this.#lists.set(uid, [...held, member].sort());
  }

  drop(uid: string, member: string): void {
    const left = this.of(uid).filter((other) => other !== member);
    if (left.length === 0) this.#lists.delete(uid);
    else this.#lists.set(uid, left);
  }

  of(uid: string): readonly string[] {
    return this.#lists.get(uid) ?? none;
  }

  clear(): void {
    this.#lists.clear();
  }
}

const none: readonly string[] = [];

/**
 * The promises that claims and nodes carry, by holder, by promised pod, and by the pod whose
 * successor they keep room for.
 *
 * Invariant: a holder is under a pod's UID exactly when its promise names that pod.
 */
export class PromiseIndex {
  readonly #promises = new Map<string, PromiseAnnotation>();
  readonly #holders = new UidLists();
  readonly #rooms = new UidLists();

  /** Puts the text of a holder's promise annotation; absent or unreadable text ends the promise. */
  set(holderUid: string, text: string | undefined): void {
    this.#unlink(holderUid);
    const promise = parsePromise(text);
    if (promise === undefined) {
      this.#promises.delete(holderUid);
      return;
    }
    this.#promises.set(holderUid, promise);
    for (const podUid of promise.podUids) this.#holders.add(podUid, holderUid);
    for (const podUid of promise.forPodUids ?? []) this.#rooms.add(podUid, holderUid);
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
    return this.#holders.of(podUid);
  }

  /** UIDs of the holders that keep room for the successor of the pod, in order. */
  roomsOf(podUid: string): readonly string[] {
    return this.#rooms.of(podUid);
  }

  clear(): void {
    this.#promises.clear();
    this.#holders.clear();
    this.#rooms.clear();
  }

  #unlink(holderUid: string): void {
    const held = this.#promises.get(holderUid);
    for (const podUid of held?.podUids ?? []) this.#holders.drop(podUid, holderUid);
    for (const podUid of held?.forPodUids ?? []) this.#rooms.drop(podUid, holderUid);
  }
}
