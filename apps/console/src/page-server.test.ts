import { get } from 'node:http';

import type { Log } from '@dovetail/core-ports';
import type { Console, Frame } from '@dovetail/service-console';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { PageFiles } from './page-files.js';
import { servePage } from './page-server.js';

const files: PageFiles = new Map([
  ['/', { type: 'text/html; charset=utf-8', body: Buffer.from('<p>page</p>') }],
]);
const frame = { kind: 'whole', cluster: 'lab', nowMs: 1 } as Frame;
const decision = { id: 'plan/1', kind: 'plan' };

const warned: string[] = [];
const log: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (name) => void warned.push(name),
  error: () => undefined,
};

/** A console of a test, which has the listeners of its pages in sight. */
const listeners = new Set<(frame: Frame) => void>();
const service = {
  subscribe: (listener: (frame: Frame) => void) => {
    listener(frame);
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  decision: (id: string) => (id === decision.id ? decision : undefined),
} as unknown as Console;

let page: Awaited<ReturnType<typeof servePage>>;
const at = (path: string): string => `http://127.0.0.1:${String(page.port)}${path}`;
beforeEach(async () => {
  warned.length = 0;
  page = await servePage(service, files, {
    port: 0,
    host: '127.0.0.1',
    hostNames: ['console.example.com'],
    pagesMax: 2,
    log,
  });
});
afterEach(() => page.close());

/** Opens a stream of frames, and resolves to its first bytes and its end. */
const stream = (
  path = '/events',
): Promise<{ readonly text: () => string; readonly close: () => void }> =>
  new Promise((resolve, reject) => {
    let text = '';
    const request = get(at(path), (response) => {
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.includes('data: '))
          resolve({ text: () => text, close: () => void request.destroy() });
      });
      response.on('error', () => undefined);
    });
    request.on('error', reject);
  });

/** The status of a path, for a browser that believes to be at another host. */
const statusAs = (host: string, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const request = get(at(path), { headers: { host } }, (response) => {
      resolve(response.statusCode);
      response.destroy();
    });
    request.on('error', reject);
  });

describe('the page', () => {
  test.each(['/', '/events', '/decision?id=plan/1', '/nothing'])(
    'does not answer under a name that is not its own: %s',
    async (path) => {
      expect(await statusAs('evil.example', path)).toBe(421);
      expect(await statusAs('console.example.com', path)).toBe(path === '/nothing' ? 404 : 200);
    },
  );

  test('is served with a policy that lets in nothing of others', async () => {
    const answer = await fetch(at('/'));
    expect(await answer.text()).toBe('<p>page</p>');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'/,
    );
    expect(answer.headers.get('content-security-policy')).not.toMatch(/unsafe|\*/);
  });

  test.each([
    ['GET', '/console.js', 404],
    ['GET', '/../package.json', 404],
    ['GET', '/%2e%2e/package.json', 404],
    ['POST', '/', 404],
    ['DELETE', '/decision?id=plan/1', 404],
    ['GET', '/decision', 400],
    ['GET', '/decision?id=', 400],
    ['GET', '/decision?id=a&id=b', 400],
    ['GET', '/decision?id=none', 404],
    ['GET', '/decision?id=plan%2F1', 200],
  ])('%s %s is answered with %i', async (method, path, status) =>
    expect((await fetch(at(path), { method })).status).toBe(status),
  );

  test('says what to do about a decision that is not kept', async () =>
    expect(await (await fetch(at('/decision?id=none'))).json()).toMatchObject({
      error: expect.stringMatching(/dovetail explain decision none/) as string,
    }));
});

describe('the stream of frames', () => {
  test('begins with the whole view, and goes on with what the console tells', async () => {
    const { text, close } = await stream();
    expect(text()).toBe(`retry: 2000\n\ndata: ${JSON.stringify(frame)}\n\n`);
    for (const listener of listeners) listener({ ...frame, kind: 'change' });
    await expect.poll(text).toContain('"kind":"change"');
    close();
    await expect.poll(() => listeners.size).toBe(0);
  });

  test('is refused to a page too many, which may come later', async () => {
    const [first, second] = [await stream(), await stream()];
    const refused = await fetch(at('/events'));
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({
      error: expect.stringMatching(/PAGES_MAX/) as string,
    });
    expect(warned).toEqual(['pages-full']);
    first.close();
    await expect.poll(() => listeners.size).toBe(1);
    const third = await stream();
    for (const { close } of [second, third]) close();
    await expect.poll(() => listeners.size).toBe(0);
  });

  test('is refused to the sixth page of a browser, and to it alone', async () => {
    await page.close();
    page = await servePage(service, files, {
      port: 0,
      host: '127.0.0.1',
      hostNames: [],
      pagesMax: 8,
      log,
    });
    const [own, other] = ['a', 'b'].map((letter) => `/events?browser=${letter.repeat(32)}`);
    const open = await Promise.all(Array.from({ length: 5 }, () => stream(own)));
    for (const _again of [1, 2]) {
      const refused = await fetch(at(own ?? ''));
      expect([refused.status, await refused.json()]).toEqual([
        503,
        {
          error:
            'this browser has 5 pages of it in sight, and no connection left for another: close or hide one',
        },
      ]);
    }
    expect(warned).toEqual(['pages-full']);
    open.push(await stream(other), await stream('/events?browser=x'));
    for (const { close } of open) close();
    await expect.poll(() => listeners.size).toBe(0);
    (await stream(own)).close();
    await expect.poll(() => listeners.size).toBe(0);
  });

  test('ends when the server does', async () => {
    await stream();
    await page.close();
    await expect.poll(() => listeners.size).toBe(0);
  });
});

test('a port that is taken is refused by the name of its setting', async () => {
  const taken = { port: page.port, host: '127.0.0.1', hostNames: [], pagesMax: 1, log };
  await expect(servePage(service, files, taken)).rejects.toThrow(
    /--page-port \(or PAGE_PORT\) \d+: .*Give an address of this machine and a port that is free/,
  );
});
