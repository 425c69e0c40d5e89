import { createServer, type IncomingHttpHeaders } from 'node:http';

import type { Parcel } from '@dovetail/core-ports';

/** A request as a receiver got it. */
export type Received = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** An answer of a receiver. */
export type Answer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** A real HTTP server that notes what it gets, and answers as it is told. */
export class HttpReceiver {
  readonly received: Received[] = [];
  /** Undefined: it never answers. */
  answer: (request: Received) => Answer | undefined = () => ({ status: 204 });
  readonly #server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const received = { method, path: url, headers, body };
      this.received.push(received);
      const answer = this.answer(received);
      if (answer === undefined) return;
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });

  /** Listens, and resolves to the address. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return `http://127.0.0.1:${String(port)}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The parcel of a launch. */
export const parcelOf = (id: string, text = `launched ${id}`): Parcel => ({
  event: {
    id: `decision/${id}`,
    source: '/dovetail/lab/launcher',
    type: 'dovetail.v1.Decision.launch',
    subject: 'NodeClaim/größe "a" 100%',
    time: '2026-11-21T12:00:00.000Z',
    traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    data: { id, kind: 'launch', summary: text },
  },
  text,
});
