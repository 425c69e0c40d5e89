import type { Pod } from '@dovetail/core-kube-model';
import type { Clock } from '@dovetail/core-ports';
import { TokenBucket } from '../loop/token-bucket.js';
import { podSubject, type KubeEvents } from './kube-events.js';

/** Of a large deployment the first few say it all (Karpenter writes five a second, ten at once). */
const pace = { ratePerSecond: 5, burst: 100 } as const;

/** Where pods are to run, as far as it has a name by now. */
export type Nominee = { readonly claimName?: string | undefined; readonly nodeName?: string | undefined };

/** Tells pods that wait where they are to run: their claim when it is made, their node when it has joined. */
export class Nominations {
  readonly #events: KubeEvents;
  readonly #bucket: TokenBucket;

  constructor(deps: { readonly events: KubeEvents; readonly clock: Clock }) {
    this.#events = deps.events;
    this.#bucket = new TokenBucket(deps.clock, pace);
  }

  /** In Karpenter's words, that its users grep for. */
  tell(pods: readonly Pod[], { claimName, nodeName }: Nominee): void {
    const names = [...(claimName === undefined ? [] : [`nodeclaim/${claimName}`]), ...(nodeName === undefined ? [] : [`node/${nodeName}`])];
    for (const pod of pods) {
      if (pod.nodeName !== undefined || !this.#bucket.tryTake()) continue;
      this.#events.tell({ about: podSubject(pod), type: 'Normal', reason: 'Nominated', message: `Pod should schedule on: ${names.join(', ')}` });
    }
  }
}
