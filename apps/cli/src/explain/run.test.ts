import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { schemaFaults } from '@dovetail/test-support/schemas';
import { afterEach, expect, test } from 'vitest';

import { tableOf } from './explanation.js';
import { runExplain } from './run.js';

let server: Server | undefined;

afterEach(() => {
  server?.close();
  server = undefined;
});

/** Serves one answer, and keeps the paths that were asked for. */
async function reaper(status: number, body: unknown) {
  const asked: string[] = [];
  const listening = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body));
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, asked };
}

async function run(url: string, output: 'table' | 'json' = 'table', name = 'n1') {
  let [out, err] = ['', ''];
  const code = await runExplain(
    { name, output, reaper: url, layout: {} },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
    },
  );
  return { code, out, err };
}

const reason = (message: string) => ({ code: 'x', message, values: {} });
const explanation = {
  node: 'n1',
  claim: 'c1',
  pool: 'NodePool/default',
  priceMicrosPerHour: 96_000,
  outcome: 'stays',
  summary: 'pod default/web fits on no other node',
  answers: [
    { about: 'expiry', outcome: 'later', dueMs: Date.UTC(2099, 0), reasons: [reason('old')] },
    { about: 'drift', outcome: 'due', reasons: [reason('new')], heldBy: [reason('no place')] },
    { about: 'blocks', outcome: 'stays', reasons: [reason('one'), reason('two')] },
  ],
};

test('an estimated price has its sign', () =>
  expect(tableOf({ ...explanation, priceEstimated: true }, 0)).toMatch(/~\$0\.0960\/h/));

test('a node is explained in a sentence and a table', async () => {
  const { url, asked } = await reaper(200, explanation);
  const { code, out } = await run(url, 'table', 'a/b');
  expect([code, out.includes('\nexpiry  later   in ')]).toEqual([0, true]);
  expect(asked).toEqual(['/debug/explain?node=a%2Fb']);
  expect(tableOf(explanation, Date.UTC(2098, 11, 28, 12))).toBe(
    [
      'n1 (NodeClaim c1, NodePool/default, $0.0960/h) stays: pod default/web fits on no other node',
      '',
      'ABOUT   ANSWER  WHEN       REASON',
      'expiry  later   in 3d 12h  old',
      'drift   due     -          new',
      '                           held: no place',
      'blocks  stays   -          one',
      '                           two',
      '',
    ].join('\n'),
  );
});

test('on a narrow terminal the reason is cut, and no line is longer', () => {
  const lines = tableOf(explanation, 0, { width: 44 }).split('\n').slice(2);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(44);
  expect(lines).toContainEqual(expect.stringMatching(/held: no p?l?a?c?e?…?$/));
});

test('JSON is the whole answer, in its published form', async () => {
  const { url } = await reaper(200, explanation);
  const { code, out } = await run(url, 'json');
  expect([code, JSON.parse(out)]).toEqual([
    0,
    { schema: 'dovetail.sh/explain-node/v1', ...explanation },
  ]);
  expect(schemaFaults('explain-node', out)).toEqual([]);
});

test.each([
  [404, { error: 'there is no node or NodeClaim n1 of a pool' }, 66, /there is no node/],
  [404, { error: 'this service explains no nodes: ask the reaper' }, 69, /ask the reaper/],
  [403, { error: 'ask from the same host, or by kubectl port-forward' }, 69, /port-forward/],
  [404, { message: 'Route not found' }, 69, /--reaper/],
  [
    404,
    { error: 'there is no node or NodeClaim n1 of a pool' },
    66,
    /^the reaper at http:.* answers: /,
  ],
  [200, { hello: 'world' }, 69, /is no explanation of a node/],
])('an answer %i %j ends with its cause', async (status, body, code, text) => {
  const { url } = await reaper(status, body);
  expect(await run(url)).toMatchObject({ code, out: '', err: expect.stringMatching(text) });
});

test('a reaper that cannot be reached is named, with the remedy', async () => {
  const { url } = await reaper(200, {});
  server?.close();
  expect(await run(url)).toMatchObject({
    code: 69,
    err: expect.stringMatching(/cannot be asked \(connect ECONNREFUSED.*--reaper or REAPER_URL/),
  });
});

test('a PodDisruptionBudget that holds several pods stands once, with its pods', async () => {
  const message = 'Pdb prevents pod evictions: default/web';
  const held = ['default/web-1', 'default/web-2'].map((pod) => ({
    ...reason(message),
    values: { pod },
  }));
  const answers = [{ about: 'blocks', outcome: 'stays', reasons: held }];
  const { url } = await reaper(200, { ...explanation, answers });
  const { out } = await run(url);
  expect(out.split('\n').filter((line) => line.includes(message))).toEqual([
    expect.stringMatching(/default\/web \(default\/web-1, default\/web-2\)$/),
  ]);
});
