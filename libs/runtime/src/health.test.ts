import type { Readiness } from '@dovetail/core-ports';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

import { serveHealth } from './health.js';

const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
let ready: Readiness = {};
let server: Awaited<ReturnType<typeof serveHealth>>;

beforeEach(async () => {
  const service = {
    ready: () => ready,
    debugState: () => ({ pods: new Map([['a', 1]]), zones: new Set(['z']) }),
  };
  const metricsText = () => Promise.resolve('pods 1\n');
  server = await serveHealth(
    { service, metricsText, metricsType: 'text/plain; version=0.0.4' },
    { port: 0, host: '127.0.0.1', log },
  );
});
afterEach(() => server.close());

const get = (page: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${String(server.port)}/${page}`);

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

  test('show metrics with their content type', async () => {
    const answer = await get('metrics');
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4');
    expect(await answer.text()).toBe('pods 1\n');
  });

  test('show maps and sets of the state as JSON', async () => {
    expect(await (await get('debug/state')).json()).toEqual({ pods: { a: 1 }, zones: ['z'] });
  });
});
