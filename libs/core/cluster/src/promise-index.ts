import { parsePromise, type PromiseAnnotation } from '@dovetail/core-api';

/** UIDs by another UID. */
class UidSets {
  readonly #sets = new Map<string, Set<string>>();

  add(uid: string, member: string): void {
    this.#sets.set(uid, (this.#sets.get(uid) ?? new Set()).add(member));
  }

  drop(uid: string, member: string): void {
    const members = this.#sets.get(uid);
    members?.delete(member);
    if (members?.size === 0) this.#sets.delete(uid);
  }

  /** The members of the set, in order. */
  of(uid: string): readonly string[] {
    const members = [...(this.#sets.get(uid) ?? [])];
    return members.length > 1 ? members.sort() : members;
  }

  clear(): void {
    this.#sets.clear();
  }
}

/**
 * The promises that claims and nodes carry, by holder, by promised pod, and by the pod whose
 * successor they keep room for.
 *
 * Invariant: a holder is under a pod's UID exactly when its promise names that pod.
 */
export class PromiseIndex {
  readonly #promises = new Map<string, PromiseAnnotation>();
  readonly #holders = new UidSets();
  readonly #rooms = new UidSets();

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
