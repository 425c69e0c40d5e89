import type { Clock, Receiver } from '@dovetail/core-ports';

import { post } from './post.js';

/** An incoming webhook of Slack, or of a chat that takes its format. */
export type SlackOptions = {
  /** It is a secret: whoever has it may write to the channel. */
  readonly url: string;
  /** How long the receiver may take to answer. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'nowMs'>;
};

/** Slack cuts a message off at 40,000 characters, and nobody reads one of 3,000. */
const textMax = 3_000;

/** Posts the line of each event as a message. */
export const slack = ({ url, timeoutMs, clock }: SlackOptions): Receiver => ({
  batchMax: 1,
  deliver: (parcels) =>
    Promise.all(
      parcels.map(({ text }) =>
        post({
          url,
          headers: { 'content-type': 'application/json; charset=utf-8' },
          body: JSON.stringify({ text: escaped(shortened(text)) }),
          timeoutMs,
          nowMs: clock.nowMs(),
        }),
      ),
    ),
  close: () => undefined,
});

const shortened = (text: string): string =>
  text.length <= textMax ? text : `${text.slice(0, textMax - 1)}…`;

/** The three characters that Slack reads as markup of its own, by its documentation. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
