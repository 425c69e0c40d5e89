import { createHash } from 'node:crypto';
import { hexOf, uuidOf } from './digest.js';
import { AwsFault } from './fault.js';
import type { Timeline } from './timeline.js';

export type QueuedMessage = {
  readonly id: string; readonly body: string; readonly md5: string; readonly sentMs: number;
  /** Names this receipt of the message: a later receive gives another, and only the latest deletes. */
  readonly receipt: string; readonly receives: number; readonly firstReceivedMs: number;
};

/** An SQS standard queue with visibility timeouts, retention and long polling. */
export type TwinQueue = {
  readonly name: string;
  send(body: string, delayMs?: number): { readonly id: string; readonly md5: string };
  /** Waits up to `waitMs` for a message. Received messages are hidden for `visibilityMs`. At most 10. */
  receive(order: { readonly max: number; readonly visibilityMs: number; readonly waitMs: number }, stop?: AbortSignal): Promise<readonly QueuedMessage[]>;
  /** Succeeds for a receipt whose message is gone, or was received again since. */
  delete(receipt: string): void;
  /** Messages by what can be done with them, and how many receivers wait. */
  depth(): { readonly visible: number; readonly hidden: number; readonly delayed: number; readonly waiting: number };
  purge(): void;
};

type Stored = { readonly id: string; readonly body: string; readonly md5: string; readonly sentMs: number; visibleMs: number; receives: number; receipt: string; firstReceivedMs: number };

/** SQS refuses longer bodies (1 MiB since 2025). */
export const messageBytesMax = 1_048_576;

const md5Of = (text: string): string => createHash('md5').update(text).digest('hex');

function takeVisible(messages: readonly Stored[], order: { readonly max: number; readonly visibilityMs: number }, nowMs: number, seed: string): readonly QueuedMessage[] {
  return messages.filter((message) => message.visibleMs <= nowMs).slice(0, order.max).map((message) => {
    message.receives += 1;
    message.visibleMs = nowMs + order.visibilityMs;
    message.firstReceivedMs = message.receives === 1 ? nowMs : message.firstReceivedMs;
    message.receipt = `AQEB${hexOf(40, seed, message.id, message.receives)}`;
    const { id, body, md5, sentMs, receipt, receives, firstReceivedMs } = message;
    return { id, body, md5, sentMs, receipt, receives, firstReceivedMs };
  });
}

/** The first of the waiting receivers to be told gets the message; all look, and whoever finds nothing waits on. */
export function createQueue(deps: { readonly timeline: Timeline; readonly seed: string; readonly name: string; readonly retentionMs: number }): TwinQueue {
  const { timeline, seed, name } = deps;
  let messages: Stored[] = [];
  let sent = 0;
  const waiting = new Set<() => void>();
  const wake = (): void => { for (const look of [...waiting]) look(); };
  const dropOld = (): void => { messages = messages.filter((message) => timeline.nowMs() - message.sentMs < deps.retentionMs); };
  return {
    name,
    send(body, delayMs = 0) {
      if (body.length === 0) throw new AwsFault('MissingParameter', 'The request must contain the parameter MessageBody.');
      if (Buffer.byteLength(body) > messageBytesMax) throw new AwsFault('InvalidParameterValue', `One or more parameters are invalid. Reason: Message must be shorter than ${messageBytesMax} bytes.`);
      const nowMs = timeline.nowMs();
      const message: Stored = { id: uuidOf(seed, 'message', (sent += 1)), body, md5: md5Of(body), sentMs: nowMs, visibleMs: nowMs + delayMs, receives: 0, receipt: '', firstReceivedMs: 0 };
      messages.push(message);
      if (delayMs > 0) timeline.after(delayMs, wake); else wake();
      return { id: message.id, md5: message.md5 };
    },
    async receive(order, stop) {
      const deadlineMs = timeline.nowMs() + order.waitMs;
      for (;;) {
        timeline.settle();
        dropOld();
        const taken = takeVisible(messages, order, timeline.nowMs(), seed);
        const leftMs = deadlineMs - timeline.nowMs();
        if (taken.length > 0 || leftMs <= 0 || stop?.aborted === true) return taken;
        await untilToldOr(timeline, waiting, Math.min(leftMs, nextVisibleMs(messages, timeline.nowMs())), stop);
      }
    },
    delete: (receipt) => { messages = messages.filter((message) => message.receipt !== receipt); },
    depth() {
      dropOld();
      const hidden = messages.filter((message) => message.visibleMs > timeline.nowMs());
      return { visible: messages.length - hidden.length, hidden: hidden.filter((message) => message.receives > 0).length, delayed: hidden.filter((message) => message.receives === 0).length, waiting: waiting.size };
    },
    purge: () => { messages = []; },
  };
}

const nextVisibleMs = (messages: readonly Stored[], nowMs: number): number =>
  Math.max(1, Math.min(...messages.map((message) => message.visibleMs - nowMs), 20_000));

async function untilToldOr(timeline: Timeline, waiting: Set<() => void>, durationMs: number, stop: AbortSignal | undefined): Promise<void> {
  const done = new AbortController();
  const look = (): void => { done.abort(); };
  waiting.add(look);
  stop?.addEventListener('abort', look, { once: true });
  await timeline.sleep(durationMs, done.signal);
  waiting.delete(look);
  stop?.removeEventListener('abort', look);
}
