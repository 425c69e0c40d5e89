import { KubeError, messageOf, type WatchReach } from '@dovetail/core-ports';

/**
 * How long the changes of an outage may take to come in after all watches are open again, in
 * milliseconds. They are sent at once; on less, pods could come after the claims that were made for
 * them, and on more, further rounds stay out of the comparison.
 */
const catchUpMs = 5_000;

/** The clock, and the place for messages to people. */
type Means = { readonly nowMs: () => number; readonly say: (text: string) => void };

const codeOf = (error: unknown): string => (error instanceof KubeError ? error.code : '');

/**
 * Follows whether the watches see what happens. During an outage, the API server is out of reach
 * for some watch, so that what is held of the cluster is of different times.
 */
export class Outage {
  readonly #means: Means;
  /** The resources that no watch sees now. */
  readonly #lost = new Set<string>();
  /** Failures other than of the connection, which are told once each. */
  readonly #told = new Set<string>();
  #sinceMs: number | undefined;
  #backMs = 0;
  #isTold = false;

  constructor(means: Means) {
    this.#means = means;
  }

  /** Takes in what a watch says of itself. The first failure of an outage is told. */
  take(resource: string, reach: WatchReach): void {
    if (reach.kind === 'lost') this.#fail(resource, reach.error);
    else if (this.#lost.delete(resource) && this.#lost.size === 0)
      this.#backMs = this.#means.nowMs();
  }

  /** Whether the changes of an outage are still missing. */
  isOn(): boolean {
    if (this.#sinceMs === undefined) return false;
    return this.#lost.size > 0 || this.#means.nowMs() - this.#backMs < catchUpMs;
  }

  /**
   * Ends an outage that is over. Returns its length in milliseconds, and whether its begin was
   * told; undefined if there was none.
   */
  end(): { readonly lastedMs: number; readonly isTold: boolean } | undefined {
    if (this.#sinceMs === undefined || this.isOn()) return undefined;
    const ended = { lastedMs: this.#backMs - this.#sinceMs, isTold: this.#isTold };
    this.#sinceMs = undefined;
    this.#isTold = false;
    this.#told.clear();
    return ended;
  }

  #fail(resource: string, error: unknown): void {
    this.#lost.add(resource);
    this.#sinceMs ??= this.#means.nowMs();
    const code = codeOf(error);
    // A server that has forgotten the version of a watch is listed again at once.
    if (code === 'gone') return;
    const isOfOne = code === 'denied' || code === 'no-such-resource';
    const text = `watching ${resource} failed: ${messageOf(error)}; it is tried again\n`;
    if (isOfOne ? this.#told.has(text) : this.#isTold) return;
    if (isOfOne) this.#told.add(text);
    this.#isTold = true;
    this.#means.say(text);
  }
}
