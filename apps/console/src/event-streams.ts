import type { ServerResponse } from 'node:http';

import type { Log } from '@dovetail/core-ports';
import type { Console, Frame } from '@dovetail/service-console';
import type { FastifyReply } from 'fastify';

/**
 * A page that takes in frames more slowly than they come is closed at so many bytes, and begins
 * anew by itself. It is several times the whole view of 5,000 nodes.
 */
const unsentMax = 16 * 1024 * 1024;

/** The browser waits so long before it asks again after a broken stream. */
const retryMs = 2_000;

/** The streams of frames to all open pages, as server-sent events. */
export class EventStreams {
  readonly #console: Pick<Console, 'subscribe'>;
  readonly #options: { readonly pagesMax: number; readonly log: Log };
  readonly #open = new Set<ServerResponse>();
  /** The last frame as text, which all pages get. */
  #written: { readonly frame: Frame; readonly text: string } | undefined;

  constructor(
    console: Pick<Console, 'subscribe'>,
    options: { readonly pagesMax: number; readonly log: Log },
  ) {
    this.#console = console;
    this.#options = options;
  }

  /** Answers with frames until the page goes. A page too many gets 503. */
  open(reply: FastifyReply): FastifyReply | undefined {
    const { pagesMax, log } = this.#options;
    if (this.#open.size >= pagesMax) {
      log.warn('pages-full', `${String(pagesMax)} pages are open: PAGES_MAX allows no more`);
      return reply
        .code(503)
        .send({
          error: `${String(pagesMax)} pages are open, and PAGES_MAX allows no more: close one`,
        });
    }
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      // Some proxies keep answers back until they are complete.
      'x-accel-buffering': 'no',
    });
    raw.write(`retry: ${String(retryMs)}\n\n`);
    this.#open.add(raw);
    const end = this.#console.subscribe((frame) => this.#send(raw, frame));
    raw.once('close', () => {
      end();
      this.#open.delete(raw);
    });
    return undefined;
  }

  /** Ends all streams. */
  close(): void {
    for (const raw of this.#open) raw.destroy();
  }

  #send(raw: ServerResponse, frame: Frame): void {
    if (raw.destroyed) return;
    raw.write(this.#textOf(frame));
    if (raw.writableLength <= unsentMax) return;
    this.#options.log.warn('page-slow', 'a page does not take in its frames, and is closed');
    raw.destroy();
  }

  #textOf(frame: Frame): string {
    if (this.#written?.frame !== frame)
      this.#written = { frame, text: `data: ${JSON.stringify(frame)}\n\n` };
    return this.#written.text;
  }
}
