import { createHash } from 'node:crypto';

import { AwsFault } from '../foundation/aws-fault.js';
import { hexOf, uuidOf } from '../foundation/digest.js';
import type { Timeline } from '../foundation/timeline.js';

/** A message in the queue. */
export type QueuedMessage = {
  readonly id: string;
  readonly body: string;
  readonly md5: string;
  readonly sentMs: number;
  /** The handle of this receive. A later receive gives another; only the latest one deletes. */
  readonly receipt: string;
  readonly receives: number;
  readonly firstReceivedMs: number;
};

/**
 * How to receive: at most `max` messages (SQS: 10), hidden for `visibilityMs`, after up to
 * `waitMs`.
 */
export type ReceiveOrder = {
  readonly max: number;
  readonly visibilityMs: number;
  readonly waitMs: number;
};

/** Messages by what can be done with them, and how many receivers wait. */
export type QueueDepth = {
  readonly visible: number;
  readonly hidden: number;
  readonly delayed: number;
  readonly waiting: number;
};

type HeldMessage = {
  readonly id: string;
  readonly body: string;
  readonly md5: string;
  readonly sentMs: number;
  visibleMs: number;
  receives: number;
  receipt: string;
  firstReceivedMs: number;
};

/** SQS refuses longer bodies (1 MiB since 2025). */
const messageBytesMax = 1_048_576;

const md5Of = (text: string): string => createHash('md5').update(text).digest('hex');

function takeVisible(
  messages: readonly HeldMessage[],
  order: { readonly max: number; readonly visibilityMs: number },
  nowMs: number,
  seed: string,
): readonly QueuedMessage[] {
  return messages
    .filter((message) => message.visibleMs <= nowMs)
    .slice(0, order.max)
    .map((message) => {
      message.receives += 1;
      message.visibleMs = nowMs + order.visibilityMs;
      message.firstReceivedMs = message.receives === 1 ? nowMs : message.firstReceivedMs;
      message.receipt = `AQEB${hexOf(40, seed, message.id, message.receives)}`;
      const { id, body, md5, sentMs, receipt, receives, firstReceivedMs } = message;
      return { id, body, md5, sentMs, receipt, receives, firstReceivedMs };
    });
}

function checkBody(body: string): void {
  if (body.length === 0)
    throw new AwsFault('MissingParameter', 'The request must contain the parameter MessageBody.');
  if (Buffer.byteLength(body) > messageBytesMax)
    throw new AwsFault(
      'InvalidParameterValue',
      `One or more parameters are invalid. Reason: Message must be shorter than ${messageBytesMax} bytes.`,
    );
}

// SQS long polls end after 20 seconds at most.
const lookAgainMaxMs = 20_000;

/**
 * An SQS standard queue with visibility timeouts, retention and long polling. All waiting receivers
 * look when a message comes; the first one takes it and the others wait on.
 */
export class TwinQueue {
  readonly name: string;
  readonly #timeline: Timeline;
  readonly #seed: string;
  readonly #retentionMs: number;
  readonly #waiting = new Set<() => void>();
  #messages: HeldMessage[] = [];
  #sent = 0;

  constructor(deps: {
    readonly timeline: Timeline;
    readonly seed: string;
    readonly name: string;
    readonly retentionMs: number;
  }) {
    this.name = deps.name;
    this.#timeline = deps.timeline;
    this.#seed = deps.seed;
    this.#retentionMs = deps.retentionMs;
  }

  send(body: string, delayMs = 0): { readonly id: string; readonly md5: string } {
    checkBody(body);
    const nowMs = this.#timeline.nowMs();
    this.#sent += 1;
    const message: HeldMessage = {
      id: uuidOf(this.#seed, 'message', this.#sent),
      body,
      md5: md5Of(body),
      sentMs: nowMs,
      visibleMs: nowMs + delayMs,
      receives: 0,
      receipt: '',
      firstReceivedMs: 0,
    };
    this.#messages.push(message);
    if (delayMs > 0) this.#timeline.after(delayMs, () => this.#wake());
    else this.#wake();
    return { id: message.id, md5: message.md5 };
  }

  /** Resolves with messages as soon as there are any, or with none when the wait or `stop` ends. */
  async receive(order: ReceiveOrder, stop?: AbortSignal): Promise<readonly QueuedMessage[]> {
    const timeline = this.#timeline;
    const deadlineMs = timeline.nowMs() + order.waitMs;
    for (;;) {
      timeline.settle();
      this.#dropOld();
      const taken = takeVisible(this.#messages, order, timeline.nowMs(), this.#seed);
      const leftMs = deadlineMs - timeline.nowMs();
      if (taken.length > 0 || leftMs <= 0 || stop?.aborted === true) return taken;
      await this.#untilWokenOr(Math.min(leftMs, this.#nextVisibleInMs()), stop);
    }
  }

  /** Does nothing for a receipt whose message is gone, or was received again since. */
  delete(receipt: string): void {
    this.#messages = this.#messages.filter((message) => message.receipt !== receipt);
  }

  depth(): QueueDepth {
    this.#dropOld();
    const nowMs = this.#timeline.nowMs();
    const hidden = this.#messages.filter((message) => message.visibleMs > nowMs);
    return {
      visible: this.#messages.length - hidden.length,
      hidden: hidden.filter((message) => message.receives > 0).length,
      delayed: hidden.filter((message) => message.receives === 0).length,
      waiting: this.#waiting.size,
    };
  }

  purge(): void {
    this.#messages = [];
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  #dropOld(): void {
    const nowMs = this.#timeline.nowMs();
    this.#messages = this.#messages.filter(({ sentMs }) => nowMs - sentMs < this.#retentionMs);
  }

  #nextVisibleInMs(): number {
    const nowMs = this.#timeline.nowMs();
    const visibleInMs = this.#messages.map((message) => message.visibleMs - nowMs);
    return Math.max(1, Math.min(...visibleInMs, lookAgainMaxMs));
  }

  async #untilWokenOr(durationMs: number, stop: AbortSignal | undefined): Promise<void> {
    const done = new AbortController();
    const look = (): void => done.abort();
    this.#waiting.add(look);
    stop?.addEventListener('abort', look, { once: true });
    await this.#timeline.sleep(durationMs, done.signal);
    this.#waiting.delete(look);
    stop?.removeEventListener('abort', look);
  }
}
