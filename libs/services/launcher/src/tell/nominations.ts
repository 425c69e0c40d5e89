import type { Pod } from '@dovetail/core-kube-model';
import type { Clock } from '@dovetail/core-ports';
import { aboutPod, type EventRecorder, TokenBucket } from '@dovetail/service-kit';

/** Karpenter's rate of this Event. Its burst is 10; with 100 a usual scale-up is named in full. */
const pace = { ratePerSecond: 5, burst: 100 } as const;

/** The place that pods are meant for, as far as it has a name. */
export type Nominee = {
  readonly claimName?: string | undefined;
  readonly nodeName?: string | undefined;
};

/**
 * Records the Event `Nominated` on waiting pods: when their claim is made, and when its node joins.
 */
export class Nominations {
  readonly #events: EventRecorder;
  readonly #bucket: TokenBucket;

  constructor(deps: { readonly events: EventRecorder; readonly clock: Clock }) {
    this.#events = deps.events;
    this.#bucket = new TokenBucket(deps.clock, pace);
  }

  /** Names the place to those of the pods that are not bound. The message is Karpenter's. */
  nominate(pods: readonly Pod[], { claimName, nodeName }: Nominee): void {
    const names = [
      ...(claimName === undefined ? [] : [`nodeclaim/${claimName}`]),
      ...(nodeName === undefined ? [] : [`node/${nodeName}`]),
    ];
    for (const pod of pods) {
      if (pod.nodeName !== undefined || !this.#bucket.tryTake()) continue;
      this.#events.record({
        about: aboutPod(pod),
        type: 'Normal',
        reason: 'Nominated',
        message: `Pod should schedule on: ${names.join(', ')}`,
      });
    }
  }
}
