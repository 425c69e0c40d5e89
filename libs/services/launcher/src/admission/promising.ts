import { annotations, parsePromise, renderPromise, type NodeClaim, type PromiseAnnotation } from '@dovetail/core-api';
import { addResources, type Node } from '@dovetail/core-kube-model';
import type { Reason } from '@dovetail/core-scheduling';
import { isWaiting } from '../world/promises.js';
import { isRetiring } from '../world/snapshot.js';
import type { World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import type { AdmittedPlacement } from './judged.js';
import { reason } from './reasons.js';

/** What a holder's promise says once pods are added: those of the old one that still wait, and the new; of two ends the later. */
export function mergedPromise(held: PromiseAnnotation | undefined, added: PromiseAnnotation, stillWaits: (podUid: string) => boolean, nowMs: number): PromiseAnnotation {
  const live = held === undefined || (held.untilMs !== undefined && held.untilMs <= nowMs) ? undefined : held;
  const podUids = [...new Set([...(live?.podUids ?? []).filter(stillWaits), ...added.podUids])].sort();
  const reserved = live?.reserved === undefined ? added.reserved : addResources(live.reserved, added.reserved ?? {});
  const replaces = live?.replaces ?? added.replaces;
  // A claim that is not initialised promises without an end; one that is, until the later of both.
  const untilMs = live !== undefined && live.untilMs === undefined ? undefined : Math.max(live?.untilMs ?? 0, added.untilMs ?? 0) || undefined;
  return {
    podUids, admission: added.admission,
    ...(untilMs === undefined ? {} : { untilMs }), ...(reserved === undefined ? {} : { reserved }), ...(replaces === undefined ? {} : { replaces }),
  };
}

/** The promise without these pods; undefined when nothing is left of it. */
export function promiseWithout(held: PromiseAnnotation, removed: PromiseAnnotation): PromiseAnnotation | undefined {
  const gone = new Set(removed.podUids);
  const podUids = held.podUids.filter((uid) => !gone.has(uid));
  const { reserved: _all, ...rest } = held;
  return podUids.length === 0 ? undefined : { ...(removed.reserved === undefined ? held : rest), podUids };
}

/**
 * Writes promises on nodes and claims that exist. The promise comes first, then the node is read live: if it is being retired
 * by then, the promise is taken back. Whoever retires taints first and then reads promises, so one of the two always sees the other.
 */
export class Promising {
  readonly #world: World;
  readonly #writer: Writer;
  readonly #nowMs: () => number;

  constructor(world: World, writer: Writer, nowMs: () => number) {
    this.#world = world;
    this.#writer = writer;
    this.#nowMs = nowMs;
  }

  /** Undefined once the promise stands; else why it could not be kept. */
  async give(placement: AdmittedPlacement): Promise<Reason | undefined> {
    const { holder } = placement;
    const gone = reason('node-gone', `${holder.kind === 'Node' ? 'node' : 'claim'} ${holder.name} is gone`, { node: holder.name });
    if (holder.kind === 'Node') {
      const node = this.#world.nodes.get(holder.uid);
      const written = node === undefined ? undefined : await this.#writer.changeNode(node, (now) => this.#adding(now.annotations, placement.promise));
      if (written === undefined) return gone;
      // The answer to the write is the node as it was at that moment: a taint that is not on it comes after our promise.
      return isRetiring(written, this.#world.claimOfNode(written)) ? this.#takeBack(placement, written, undefined) : undefined;
    }
    const claim = this.#world.claims.get(holder.uid);
    const written = claim === undefined ? undefined : await this.#writer.changeClaim(claim, (now) => this.#adding(now.annotations, placement.promise));
    if (written === undefined) return gone;
    const joined = this.#world.nodeOfClaim(written);
    const node = joined === undefined ? undefined : await this.#writer.readNode(joined.name);
    const retiring = written.deletionMs !== undefined || (node !== undefined && isRetiring(node, written));
    return retiring ? this.#takeBack(placement, node, written) : undefined;
  }

  #adding(held: Readonly<Record<string, string>>, promise: PromiseAnnotation): { readonly metadata: Readonly<Record<string, unknown>> } {
    const waits = (uid: string): boolean => { const pod = this.#world.pods.get(uid); return pod !== undefined && isWaiting(pod); };
    const merged = mergedPromise(parsePromise(held[annotations.promise]), promise, waits, this.#nowMs());
    return { metadata: { annotations: { [annotations.promise]: renderPromise(merged) } } };
  }

  async #takeBack(placement: AdmittedPlacement, node: Node | undefined, claim: NodeClaim | undefined): Promise<Reason> {
    const change = (held: Readonly<Record<string, string>>): { readonly metadata: Readonly<Record<string, unknown>> } | undefined => {
      const promise = parsePromise(held[annotations.promise]);
      if (promise === undefined) return undefined;
      const left = promiseWithout(promise, placement.promise);
      return { metadata: { annotations: { [annotations.promise]: left === undefined ? null : renderPromise(left) } } };
    };
    if (claim !== undefined) await this.#writer.changeClaim(claim, (now) => change(now.annotations));
    else if (node !== undefined) await this.#writer.changeNode(node, (now) => change(now.annotations));
    return reason('node-retiring', `${placement.holder.name} began to be retired`, { node: placement.holder.name });
  }
}
