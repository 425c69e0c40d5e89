import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { followLog } from './log-lines.js';

let dir = '';
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), 'dovetail-log-'))));
afterAll(() => rm(dir, { recursive: true, force: true }));

test('a log is followed line by line, also when a line comes in pieces and another is no JSON', async () => {
  const path = join(dir, 'service.log');
  await writeFile(path, '{"event":"first"}\nnot JSON\n{"event":"sec');
  const stop = new AbortController();
  const lines = followLog(path, stop.signal);
  expect((await lines.next()).value).toEqual({ event: 'first' });
  await appendFile(path, 'ond","msg":"ü"}\n');
  expect((await lines.next()).value).toEqual({ event: 'second', msg: 'ü' });
  stop.abort();
  expect((await lines.next()).done).toBe(true);
});
