import { headerValue } from '@dovetail/contracts';
import type { Clock, CloudEvent, Receiver } from '@dovetail/core-ports';

import { post } from './post.js';
import { signatureHeaders } from './signature.js';

/** A webhook that takes CloudEvents. */
export type WebhookOptions = {
  readonly url: string;
  /**
   * `structured`: one JSON object holds attributes and data (`application/cloudevents+json`).
   * `binary`: attributes are headers, and the body is the decision alone.
   */
  readonly mode: 'structured' | 'binary';
  /** Further headers, such as `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Signs each request by the rules of Standard Webhooks. Absent: none is signed. */
  readonly signingKey?: string;
  /** How long the receiver may take to answer. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'nowMs'>;
};

/** Posts each event to the webhook, by the HTTP protocol binding of CloudEvents 1.0. */
export function webhook(options: WebhookOptions): Receiver {
  const { url, mode, signingKey, timeoutMs, clock } = options;
  return {
    batchMax: 1,
    deliver: (parcels) =>
      Promise.all(
        parcels.map(({ event }) => {
          const nowMs = clock.nowMs();
          const { headers, body } = mode === 'binary' ? binaryOf(event) : structuredOf(event);
          const signature =
            signingKey === undefined
              ? {}
              : signatureHeaders(signingKey, { id: event.id, atMs: nowMs, body });
          const all = { ...options.headers, ...headers, ...signature };
          return post({ url, headers: all, body, timeoutMs, nowMs });
        }),
      ),
    close: () => undefined,
  };
}

type Message = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

/** The event as one JSON object, by the JSON event format of CloudEvents. */
export const structuredJson = (event: CloudEvent): string => {
  const { data, ...attributes } = event;
  return JSON.stringify({
    specversion: '1.0',
    ...attributes,
    datacontenttype: 'application/json',
    data,
  });
};

const structuredOf = (event: CloudEvent): Message => ({
  headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
  body: structuredJson(event),
});

function binaryOf({ data, ...attributes }: CloudEvent): Message {
  const named = Object.entries({ specversion: '1.0', ...attributes }).map(([name, value]) => [
    `ce-${name}`,
    headerValue(value),
  ]);
  const headers = Object.fromEntries(named) as Readonly<Record<string, string>>;
  return {
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(data),
  };
}
