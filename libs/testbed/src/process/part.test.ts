import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { freePort, isAlive, type PartSpec, startPart, waitFor } from '../index.js';
import { scratchDir } from '../testing/scratch.js';

const dir = scratchDir();

const shell = (name: string, script: string, more: Partial<PartSpec> = {}): PartSpec => ({
  name,
  command: '/bin/sh',
  args: ['-c', script],
  logFile: join(dir, `${name}.log`),
  ready: () => true,
  readyDeadlineMs: 5_000,
  ...more,
});

test('stop ends the process, and stopping again is fine', async () => {
  const part = await startPart(shell('sleeper', 'exec sleep 600'));
  const { pid } = part;
  expect([part.running, isAlive(pid)]).toEqual([true, true]);
  await part.stop();
  await part.stop();
  expect([part.running, isAlive(pid)]).toEqual([false, false]);
});

test('a part that ignores the request to end is killed', async () => {
  const part = await startPart(
    shell('deaf', "trap '' TERM; while true; do sleep 1; done", { stopDeadlineMs: 100 }),
  );
  await part.stop();
  expect(isAlive(part.pid)).toBe(false);
});

test('a part that was stopped in its tracks can be ended, and restarted under another number', async () => {
  const part = await startPart(shell('frozen', 'exec sleep 600'));
  const { pid } = part;
  await part.kill('SIGSTOP');
  expect(part.running).toBe(true);
  await part.restart();
  expect([isAlive(pid), part.running, part.pid === pid]).toEqual([false, true, false]);
  await part.kill();
  expect(part.running).toBe(false);
});

test('a part that ends at once: the error names it, its exit code, its last words and the log', async () => {
  const starting = startPart(shell('broken', 'echo port in use; exit 3', { ready: () => false }));
  await expect(starting).rejects.toThrow(
    /broken did not start: broken ended with exit code 3[^]*\| port in use[^]*broken\.log/,
  );
});

test('a part that never gets ready is not left running', async () => {
  const starting = startPart(
    shell('slow', 'echo $$; exec sleep 600', { ready: () => false, readyDeadlineMs: 300 }),
  );
  const thrown = await starting.catch((error: Error) => error);
  const pid = Number(/\| (\d+)/.exec(String(thrown))?.[1]);
  expect(pid).toBeGreaterThan(0);
  expect(isAlive(pid)).toBe(false);
});

test('a program that does not exist is said so', async () => {
  await expect(startPart(shell('absent', '', { command: join(dir, 'absent') }))).rejects.toThrow(
    /absent.*ENOENT/,
  );
});

test('parts die with their parent, SIGKILL included', async () => {
  const script = fileURLToPath(new URL('../testing/forgetful-parent.ts', import.meta.url));
  const parent = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@dovetail/source', script, dir],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const pid = await new Promise<number>((resolve) =>
    createInterface({ input: parent.stdout }).once('line', (line) => resolve(Number(line))),
  );
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await waitFor(() => !groupIsAlive(pid), {
    what: 'the part and its child to die',
    deadlineMs: 60_000,
  });
});

test('freePort gives a port that can be listened on, and never the same one twice', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  expect(new Set(ports).size).toBe(20);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(ports[0], '127.0.0.1', resolve));
  await new Promise((resolve) => server.close(resolve));
});

const groupIsAlive = (pid: number): boolean => {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
};
