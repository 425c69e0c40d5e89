import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Ended, ranCommand } from '@dovetail/test-support/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Tests `make demo` and `make lab` on a machine without a nats-server. */
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dovetail-together-'));
  await mkdir(join(folder, 'empty'));
});
afterAll(async () => {
  await ranCommand({ name: 'lab', folder, args: ['down'] });
  await rm(folder, { recursive: true, force: true });
});

/** The address of someone else's bus must not matter to services that have theirs inside. */
const foreign = { NATS_URL: 'http://elsewhere:1', NATS_CREDENTIALS: '/nowhere' };
const lab = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  ranCommand({ name: 'lab', folder, args, env: { ...foreign, ...env } });

describe('where PATH, cache and pip have no nats-server, the demo', () => {
  let demo: Ended;
  beforeAll(async () => {
    const empty = join(folder, 'empty');
    demo = await lab(['demo'], { NATS_SERVER: '', PATH: empty, XDG_CACHE_HOME: empty });
  });

  test('ends with 0 after the whole story', () => {
    expect(demo).toMatchObject({ code: 0, output: expect.stringContaining('→ node gone ') });
  });
  test('says first that all services share one process and the bus in it, and why', () => {
    const head = demo.output.split('\n').slice(0, 6).join('\n');
    expect(head).toMatch(/nats-server: left out \(.+\); the services share one process/);
    expect(head).toMatch(/services: pod-watcher, solver-0, launcher, reaper: real, all in one/);
  });
});

describe('with NATS_SERVER=none, the lab that is left running', () => {
  let up: Ended;
  beforeAll(async () => {
    up = await lab(['up'], { NATS_SERVER: 'none', SOLVERS: '2' });
  });

  test('is ready when the command returns', () => {
    expect(up).toMatchObject({
      code: 0,
      output: expect.stringMatching(/solver-0, solver-1.*all in one process\n[^]*make lab-down/),
    });
  });
  test('says that the console is left out, and why', () =>
    expect(up.output).toMatch(/^ {2}console: left out, because it needs a nats-server$/m));
  test('lets the command read its decisions over HTTP', async () => {
    expect(await readFile(join(folder, '.lab', 'nats-url'), 'utf8')).toMatch(/^http:/);
    expect(await ranCommand({ name: 'cli', folder, args: ['decisions'] })).toMatchObject({
      code: 0,
    });
  });
  test('lets the command ask the reaper in the process', async () =>
    expect(await ranCommand({ name: 'cli', folder, args: ['explain', 'node', 'nope'] })).toEqual({
      code: 66,
      output: expect.stringMatching(
        /^the reaper of this folder's lab at .* no node or NodeClaim nope/,
      ),
    }));
  test('ends when it is told to', async () =>
    expect(await lab(['down'], {})).toMatchObject({
      code: 0,
      output: expect.stringContaining('the lab has ended'),
    }));
});
