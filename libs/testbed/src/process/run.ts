import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

import { TestbedError } from './errors.js';
import { lastLines } from './log-tail.js';
import { guard, unguard } from './watchdog.js';

/** The options of a command. `onLine` receives each line of stderr as it comes. */
export type RunOptions = {
  readonly deadlineMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
  /** The remedy for a failure, which ends the error's message. */
  readonly remedy: string;
};

/** The output of a command. */
export type Output = { readonly stdout: string; readonly stderr: string };

const tailLines = 15;

/**
 * Runs a command to its end. Fails on an exit code other than 0 and after the deadline. The command
 * dies with this process.
 */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<Output> {
  const { cwd, env, onLine, remedy, deadlineMs } = options;
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.stdout += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (printed.stderr += chunk.toString('utf8')));
  if (onLine !== undefined) createInterface({ input: child.stderr }).on('line', onLine);
  const end = await endOf(child, deadlineMs);
  if (end === 'exit code 0') return printed;
  throw new TestbedError({
    failed: `${[command, ...args].join(' ').slice(0, 200)} failed: ${end}`,
    lastLines: lastLines(printed.stderr || printed.stdout, tailLines),
    remedy,
  });
}

/** How the command ended, in words. */
function endOf(child: ChildProcess, deadlineMs: number): Promise<string> {
  const { pid } = child;
  if (pid !== undefined) guard(pid);
  return new Promise((resolve) => {
    let late = '';
    const timer = setTimeout(() => {
      late = `not done after ${deadlineMs} ms, `;
      if (pid !== undefined) killGroup(pid);
    }, deadlineMs);
    const done = (end: string): void => {
      clearTimeout(timer);
      if (pid !== undefined) unguard(pid);
      resolve(late + end);
    };
    child.once('error', (error) => done(error.message));
    child.once('close', (code, signal) =>
      done(signal === null ? `exit code ${code}` : `signal ${signal}`),
    );
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself just now.
  }
}

/** The path of a program on PATH. */
export async function findOnPath(program: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(folder, program);
    if (folder !== '' && (await isExecutable(candidate))) return candidate;
  }
  return undefined;
}

/** Whether the path is a file that may be executed. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
