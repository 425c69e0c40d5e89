import { annotations, type NodeClaim } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import { compareText } from '@dovetail/core-kube-model';

import { intentIdOf, type LaunchIntent, parseIntent } from './intent.js';
import { equalityKey } from './request.js';

/** The parts of an intent that each wake asks for. Its request is large, and few ask for it. */
export type IntentHead = Omit<LaunchIntent, 'request'> & {
  /** Names of the launch templates that its request names. */
  readonly templates: readonly string[];
};

/** Texts that are held before those that no claim carries are looked for the first time. */
const firstLook = 256;

/**
 * The claims without an instance, and the facts about them that each wake asks for. A wake costs
 * nothing for claims that have their instance: the mirror keeps the others in an index. The text of
 * an intent is parsed once, and a claim is compared with others once.
 */
export class UnpairedClaims {
  readonly #cluster: Cluster;
  readonly #sha256Hex: (text: string) => string;
  /** By the intent's id. No head: the text is no intent. */
  readonly #heads = new Map<
    string,
    { readonly text: string; readonly head: IntentHead | undefined }
  >();
  /** The number of heads at which those without a claim are dropped. */
  #lookAt = firstLook;
  readonly #keys = new WeakMap<NodeClaim, string>();
  /** The rows of the index, and the same in order of their names. */
  #rows: readonly NodeClaim[] = [];
  #sorted: readonly NodeClaim[] = [];

  constructor(cluster: Cluster, sha256Hex: (text: string) => string) {
    this.#cluster = cluster;
    this.#sha256Hex = sha256Hex;
  }

  /** The claims, in order of their names. */
  all(): readonly NodeClaim[] {
    const rows = this.#cluster.claims.by('unpaired', 'unpaired');
    if (rows !== this.#rows) {
      this.#rows = rows;
      this.#sorted = [...rows].sort((a, b) => compareText(a.name, b.name));
    }
    return this.#sorted;
  }

  /** The head of the intent that the claim carries; undefined when it carries none. */
  headOf(claim: NodeClaim): IntentHead | undefined {
    const text = claim.annotations[annotations.launchIntent];
    const id = intentIdOf(claim);
    if (text === undefined || id === undefined) return undefined;
    const held = this.#heads.get(id);
    if (held?.text === text) return held.head;
    const intent = parseIntent(text, this.#sha256Hex);
    const head = intent === undefined ? undefined : headOf(intent);
    this.#heads.set(id, { text, head });
    if (this.#heads.size >= this.#lookAt) this.#forget();
    return head;
  }

  /** Claims with the same key may share a request. */
  equalityKeyOf(claim: NodeClaim): string {
    const held = this.#keys.get(claim) ?? equalityKey(claim);
    this.#keys.set(claim, held);
    return held;
  }

  /** The launch templates that the intents of these claims name. */
  templates(): ReadonlySet<string> {
    return new Set(this.all().flatMap((claim) => this.headOf(claim)?.templates ?? []));
  }

  #forget(): void {
    const carried = new Set(this.all().flatMap((claim) => intentIdOf(claim) ?? []));
    for (const id of this.#heads.keys()) if (!carried.has(id)) this.#heads.delete(id);
    // Looking costs one pass over these claims, so it waits until as many texts again have come.
    this.#lookAt = Math.max(firstLook, 2 * this.#heads.size);
  }
}

const headOf = ({ request, ...head }: LaunchIntent): IntentHead => ({
  ...head,
  templates: request.configs.map(({ launchTemplateName }) => launchTemplateName),
});
