import { request } from 'node:http';
import { networkInterfaces } from 'node:os';

import type { Readiness } from '@dovetail/core-ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { isLoopback, serveHealth } from './health.js';

/** A page of one part. */
async function* partsOf(text: string): AsyncGenerator<string> {
  yield await Promise.resolve(text);
}
const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
let ready: Readiness = {};
let hung: readonly string[] = [];
let server: Awaited<ReturnType<typeof serveHealth>>;

beforeEach(async () => {
  const service = {
    ready: () => ready,
    debugState: () => ({ pods: new Map([['a', 1]]), zones: new Set(['z']) }),
    explain: (name: string) => (name === 'n1' ? { node: 'n1', outcome: 'stays' } : undefined),
  };
  const metricsText = () => partsOf('pods 1\n');
  server = await serveHealth(
    {
      service,
      vitals: { hung: () => hung },
      metricsText,
      metricsType: 'text/plain; version=0.0.4',
    },
    { port: 0, host: '127.0.0.1', log },
  );
});
afterEach(() => server.close());

const hasIpv6 = (): boolean =>
  (networkInterfaces()['lo'] ?? []).some(({ family }) => family === 'IPv6');

const get = (page: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${String(server.port)}/${page}`);

test('a service that listens on :: is reached over IPv6 and IPv4', async () => {
  const service = { ready: () => ({}), debugState: () => ({}) };
  const both = await serveHealth(
    { service, metricsText: () => partsOf(''), metricsType: 'text/plain' },
    { port: 0, host: '::', log },
  );
  const statuses = await Promise.all(
    ['127.0.0.1', ...(hasIpv6() ? ['[::1]'] : [])].map(
      async (host) => (await fetch(`http://${host}:${String(both.port)}/healthz`)).status,
    ),
  );
  await both.close();
  expect(new Set(statuses)).toEqual(new Set([200]));
});

describe('the debug state is shown to callers of the same host only', () => {
  test.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['10.0.0.1', false],
    ['::ffff:10.0.0.1', false],
    ['fd00::1', false],
    [undefined, false],
  ])('%s: %j', (address, shown) => expect(isLoopback(address)).toBe(shown));

  test('others are told how to ask, and get the other pages', async () => {
    const outer = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
    if (outer === undefined) {
      process.stderr.write('LEFT OUT: a foreign caller, as the machine has no other address\n');
      return;
    }
    const open = await serveHealth(
      {
        service: { ready: () => ({}), debugState: () => ({ secret: 1 }) },
        metricsText: () => partsOf('pods 1\n'),
        metricsType: 'text/plain',
      },
      { port: 0, host: '0.0.0.0', log },
    );
    const ask = (page: string): Promise<Response> =>
      fetch(`http://${outer}:${String(open.port)}/${page}`);
    const refused = await ask('debug/state');
    const others = await Promise.all(['healthz', 'readyz', 'metrics'].map(ask));
    await open.close();
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('kubectl port-forward'),
    ]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('the pages of a service', () => {
  test.each<[string, Readiness, number, boolean]>([
    ['nothing is waited for', {}, 200, true],
    ['every condition holds', { bus: true, watches: true }, 200, true],
    ['one condition does not hold', { bus: true, watches: false }, 503, false],
  ])('say whether it is ready when %s', async (_when, conditions, status, isReady) => {
    ready = conditions;
    const answer = await get('readyz');
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ ready: isReady, conditions });
  });

  test('say that it is alive, ready or not', async () => {
    ready = { bus: false };
    expect((await get('healthz')).status).toBe(200);
  });

  test('say that it is dead while a loop is hung, and which', async () => {
    hung = ['rounds'];
    const answer = await get('healthz');
    hung = [];
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { status: 'hung', hung: ['rounds'] },
    ]);
  });

  test('show metrics with their content type', async () => {
    const answer = await get('metrics');
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await answer.text()).toBe('pods 1\n');
  });

  test.each([
    ['evil.example', 403],
    ['localhost:8080', 200],
    ['127.0.0.1', 200],
  ])('show the state to a browser that believes to be at %s: %i', async (host, status) => {
    const { port } = new URL((await get('healthz')).url);
    const answered = new Promise<number | undefined>((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: '/debug/state', headers: { host } };
      request(options, (response) => {
        resolve(response.statusCode);
        response.destroy();
      })
        .on('error', reject)
        .end();
    });
    expect(await answered).toBe(status);
  });

  test('show maps and sets of the state as JSON', async () => {
    expect(await (await get('debug/state')).json()).toEqual({ pods: { a: 1 }, zones: ['z'] });
  });
});

describe('the explanation of a node', () => {
  test.each([
    ['?node=n1', 200, { node: 'n1', outcome: 'stays' }],
    ['?node=n2', 404, { error: 'there is no node or NodeClaim n2 of a pool' }],
    ['', 400, { error: 'give the name of a node: /debug/explain?node=NAME' }],
  ])('for %j is answered with %i', async (query, status, body) => {
    const response = await get(`debug/explain${query}`);
    expect([response.status, await response.json()]).toEqual([status, body]);
  });

  test('is not to be had from a service that explains none', async () => {
    const other = await serveHealth(
      {
        service: { ready: () => ({}), debugState: () => ({}) },
        metricsText: () => partsOf(''),
        metricsType: 'text/plain',
      },
      { port: 0, host: '127.0.0.1', log },
    );
    const response = await fetch(
      `http://127.0.0.1:${String(other.port)}/debug/explain?node=n1`,
    ).finally(() => other.close());
    expect(await response.json()).toEqual({
      error: 'this service explains no nodes: ask the reaper',
    });
  });
});
