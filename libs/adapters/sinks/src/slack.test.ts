import { afterEach, beforeEach, expect, test } from 'vitest';

import { slack } from './slack.js';
import { HttpReceiver, parcelOf } from './testing/http-receiver.js';

let receiver: HttpReceiver;
let url: string;
beforeEach(async () => {
  receiver = new HttpReceiver();
  url = await receiver.listen();
});
afterEach(() => receiver.close());

const textOf = async (text: string): Promise<string> => {
  receiver.answer = () => ({ status: 200, body: 'ok' });
  const to = slack({ url, timeoutMs: 2_000, clock: { nowMs: () => 0 } });
  expect(await to.deliver([parcelOf('1', text)])).toEqual([{ kind: 'taken' }]);
  const [got] = receiver.received;
  expect(got?.headers['content-type']).toBe('application/json; charset=utf-8');
  return (JSON.parse(got?.body ?? '') as { readonly text: string }).text;
};

test('Slack gets the line as text', async () =>
  expect(await textOf('launch (lab): größer')).toBe('launch (lab): größer'));

test('Slack reads no markup in it', async () =>
  expect(await textOf('a < b && <!channel>')).toBe('a &lt; b &amp;&amp; &lt;!channel&gt;'));

test('a line of many pods is shortened', async () => {
  const text = await textOf('x'.repeat(5_000));
  expect([text.length, text.at(-1)]).toEqual([3_000, '…']);
});

test('a webhook that is gone refuses', async () => {
  receiver.answer = () => ({ status: 404, body: 'no_service' });
  const to = slack({ url, timeoutMs: 2_000, clock: { nowMs: () => 0 } });
  expect(await to.deliver([parcelOf('1')])).toEqual([
    { kind: 'refused', reason: 'it answered 404: no_service' },
  ]);
});
