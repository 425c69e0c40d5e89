import type { ServerResponse } from 'node:http';

import type { Log } from '@dovetail/core-ports';
import type { Console, Frame } from '@dovetail/service-console';
import type { FastifyReply } from 'fastify';

/**
 * A page that takes in frames more slowly than they come is closed at so many bytes, and begins
 * anew by itself. It is several times the whole view of 5,000 nodes.
 */
const unsentMax = 16 * 1024 * 1024;

/**
 * The most pages of one browser. Browsers have six connections to one address, unless a proxy
 * speaks HTTP/2 with them, and one is left to load a page and to read decisions.
 */
const pagesOfBrowserMax = 5;

/** The browser waits so long before it asks again after a broken stream. */
const retryMs = 2_000;

/** The streams of frames to all open pages, as server-sent events. */
export class EventStreams {
  readonly #console: Pick<Console, 'subscribe'>;
  readonly #options: { readonly pagesMax: number; readonly log: Log };
  /** The open streams, each with the name of its browser; empty: unknown. */
  readonly #open = new Map<ServerResponse, string>();
  /** Whether a page was refused since the last one went. The refused one asks over and over. */
  #isFull = false;
  /** The last frame as text, which all pages get. */
  #written: { readonly frame: Frame; readonly text: string } | undefined;

  constructor(
    console: Pick<Console, 'subscribe'>,
    options: { readonly pagesMax: number; readonly log: Log },
  ) {
    this.#console = console;
    this.#options = options;
  }

  /** Answers with frames until the page goes. A page too many gets 503, and why. */
  open(reply: FastifyReply, browser: string): FastifyReply | undefined {
    const error = this.#refusal(browser);
    if (error !== undefined) {
      if (!this.#isFull) this.#options.log.warn('pages-full', `a page is refused: ${error}`);
      this.#isFull = true;
      return reply.code(503).send({ error });
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
    this.#open.set(raw, browser);
    const end = this.#console.subscribe((frame) => this.#send(raw, frame));
    raw.once('close', () => {
      end();
      this.#open.delete(raw);
      this.#isFull = false;
    });
    return undefined;
  }

  #refusal(browser: string): string | undefined {
    const { pagesMax } = this.#options;
    if (this.#open.size >= pagesMax)
      return `${String(pagesMax)} pages are open, and PAGES_MAX allows no more: close one`;
    const own = [...this.#open.values()].filter((one) => one === browser).length;
    return browser === '' || own < pagesOfBrowserMax
      ? undefined
      : `this browser has ${String(own)} pages of it in sight, and no connection left for another: close or hide one`;
  }

  /** Ends all streams. */
  close(): void {
    for (const raw of this.#open.keys()) raw.destroy();
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
