import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import {
  type Bus,
  BusError,
  type BusErrorCode,
  type DeliveredMessage,
  type FollowEvent,
  type FollowFrom,
  type PublishAck,
  type QueueLag,
  type StopSignal,
  type StreamExtent,
} from '@dovetail/core-ports';

import { withScope } from '../memory/signal.js';
import type { QueueName } from '../memory/work.js';
import { eventOf, type LastAnswer, messageOfJson } from './lines.js';

const retryMs = 250;
/** The longest wait for an answer, or for the beginning of a stream, which come from memory. */
const answerMs = 5_000;

/**
 * Reads the in-process bus of another process at the address that `serveBus` gave. Everything
 * except reading is refused with `denied`.
 */
export function readBus(url: string): Bus {
  return new BusReader(url);
}

/** Whether an address of a bus is that of an in-process bus. */
export const isBusReaderUrl = (url: string): boolean => url.startsWith('http://');

class BusReader implements Bus {
  readonly #url: string;
  #connected = false;

  constructor(url: string) {
    this.#url = url;
  }

  connected(): boolean {
    return this.#connected;
  }

  async position(stream: string): Promise<StreamExtent> {
    const response = await this.#get(`/position?${new URLSearchParams({ stream }).toString()}`);
    const extent = await this.#answer<StreamExtent>(response);
    const { incarnation, firstSequence = 1, lastSequence } = extent;
    if (incarnation === undefined || lastSequence === undefined) throw this.#noBus();
    return { incarnation, firstSequence, lastSequence };
  }

  async *follow(
    options: { stream: string; filters: readonly string[]; from?: FollowFrom },
    stop: StopSignal,
  ): AsyncGenerator<FollowEvent> {
    let from = options.from ?? 'last-per-subject';
    let begun = false;
    while (!stop.aborted) {
      const query = new URLSearchParams([
        ['stream', options.stream],
        ['from', typeof from === 'object' ? JSON.stringify(from) : from],
        ...options.filters.map((filter): [string, string] => ['filter', filter]),
      ]);
      const response = await this.#get(`/follow?${query.toString()}`).catch((error: unknown) =>
        error instanceof BusError ? undefined : Promise.reject(error as Error),
      );
      if (response === undefined) {
        await withScope(stop, (scope) =>
          delay(retryMs, undefined, { signal: scope }).catch(() => undefined),
        );
        continue;
      }
      if (begun) yield { kind: 'reset', reason: `the connection to ${this.#url} was lost` };
      begun = true;
      yield* this.#events(response, stop);
      // The streams of an in-process bus end with its process, so a successor's messages are newer
      // than the loss.
      from = from === 'last-per-subject' ? from : 'first';
    }
  }

  async *#events(response: IncomingMessage, stop: StopSignal): AsyncGenerator<FollowEvent> {
    const leave = (): void => void response.destroy();
    stop.addEventListener('abort', leave, { once: true });
    if (stop.aborted) leave();
    try {
      for await (const line of linesOf(response)) yield eventOf(line);
    } finally {
      this.#connected = false;
      stop.removeEventListener('abort', leave);
      response.destroy();
    }
  }

  async #get(path: string): Promise<IncomingMessage> {
    const response = await this.#begun(path);
    this.#connected = true;
    if (response.statusCode === 200) return response;
    const { code, message } = await this.#answer<{ code: BusErrorCode; message: string }>(response);
    if (typeof code !== 'string' || typeof message !== 'string') throw this.#noBus();
    throw new BusError(code, message);
  }

  /** The answer, once it has begun. */
  #begun(path: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.#url}${path}`, { agent: false }, (response) => {
        clearTimeout(timer);
        resolve(response);
      });
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer within ${String(answerMs / 1_000)} s`)),
        answerMs,
      );
      request.once('error', (cause) => {
        clearTimeout(timer);
        const message = `the in-process bus at ${this.#url} does not answer: ${cause.message}`;
        reject(new BusError('unavailable', message, { cause }));
      });
    });
  }

  /** The parts of an answer, none of which is sure to be there. */
  async #answer<T>(response: IncomingMessage): Promise<Partial<T>> {
    const text = await textOf(response);
    try {
      return (JSON.parse(text) ?? {}) as Partial<T>;
    } catch {
      throw this.#noBus();
    }
  }

  #noBus(): BusError {
    return new BusError('unavailable', `${this.#url} answers, but it is not the bus of a lab`);
  }

  ensureStreams(): Promise<void> {
    return this.#refuse('make streams');
  }

  publish(): Promise<PublishAck> {
    return this.#refuse('publish');
  }

  async *work(): AsyncGenerator<never> {
    await this.#refuse('take work');
  }

  lastSequences(): Promise<ReadonlyMap<string, number>> {
    return this.#refuse('list sequences');
  }

  async lagOf({ stream, name, filter }: QueueName): Promise<QueueLag | undefined> {
    const query = new URLSearchParams({
      stream,
      name,
      ...(filter === undefined ? {} : { filter }),
    });
    const response = await this.#get(`/lag?${query.toString()}`);
    return (await this.#answer<{ lag?: QueueLag }>(response)).lag;
  }

  bytesOf(): Promise<number> {
    return this.#refuse('measure streams');
  }

  async lastMessage(stream: string, subject: string): Promise<DeliveredMessage | undefined> {
    const query = new URLSearchParams({ stream, subject });
    const response = await this.#get(`/last?${query.toString()}`);
    const { message } = await this.#answer<LastAnswer>(response);
    return message === undefined ? undefined : messageOfJson(message);
  }

  request(): Promise<DeliveredMessage> {
    return this.#refuse('ask');
  }

  serve(): Promise<void> {
    return this.#refuse('serve');
  }

  #refuse(what: string): Promise<never> {
    return Promise.reject(
      new BusError(
        'denied',
        `the bus at ${this.#url} lives in another process, which lets others follow its streams but not ${what}: start the lab with a nats-server for that`,
      ),
    );
  }
}

/** Lines as they come, until the connection ends or breaks. A follower treats both alike. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      const lines = `${rest}${chunk as string}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch {
    return;
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
