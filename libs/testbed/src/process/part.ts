import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

import { messageOf } from '@dovetail/core-ports';

import { codeOf, TestbedError } from './errors.js';
import { lastLinesOf } from './log-tail.js';
import { waitFor } from './wait.js';
import { guard, unguard } from './watchdog.js';

/** A real outside part that runs as a child process and ends with this process, however it ends. */
export type RunningPart = {
  readonly name: string;
  /** The number of the current process; another one after `restart`. */
  readonly pid: number;
  readonly running: boolean;
  /** The log of the part, over all its restarts. */
  readonly logFile: string;
  /** Where a service answers HTTP. Absent for other parts. */
  readonly httpUrl?: string;
  /** Where the console serves its page. Absent for other parts. */
  readonly pageUrl?: string;
  /**
   * Asks the part to end (SIGTERM), then kills it (SIGKILL) after a while. Returns when it is gone.
   * Repeating does no harm.
   */
  stop(): Promise<void>;
  /**
   * Sends a signal. Returns when the process is gone, or at once for signals that do not end it
   * (SIGSTOP, SIGCONT).
   */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /**
   * Restarts the part on the same ports and files, after stopping it if it runs. Returns when it is
   * ready.
   */
  restart(): Promise<void>;
};

/** How to start a part, and how to see that it is ready. */
export type PartSpec = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Ready when true; false and a throw mean "not yet". */
  readonly ready: () => boolean | Promise<boolean>;
  readonly readyDeadlineMs: number;
  readonly stopDeadlineMs?: number;
};

const stopDeadlineMsDefault = 10_000;
const killDeadlineMs = 5_000;
const signalsThatDoNotEnd: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGSTOP',
  'SIGCONT',
  'SIGHUP',
  'SIGUSR1',
]);

/**
 * Starts a part and returns when it is ready. A part that ends early or is late is stopped, and the
 * error quotes its log.
 */
export async function startPart(spec: PartSpec): Promise<RunningPart> {
  const part = new Part(spec);
  await part.restart();
  return part;
}

/** Whether a process of this number exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return codeOf(thrown) === 'EPERM';
  }
}

class Part implements RunningPart {
  readonly #spec: PartSpec;
  #child: ChildProcess | undefined;
  #end: string | undefined;

  constructor(spec: PartSpec) {
    this.#spec = spec;
  }

  get name(): string {
    return this.#spec.name;
  }

  get logFile(): string {
    return this.#spec.logFile;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#end === undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#spawn();
    try {
      await this.#ready();
    } catch (thrown) {
      await this.kill('SIGKILL');
      throw thrown;
    }
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    this.#signal('SIGCONT'); // a stopped process would not see the request to end
    this.#signal('SIGTERM');
    if (await this.#gone(this.#spec.stopDeadlineMs ?? stopDeadlineMsDefault)) return;
    await this.kill('SIGKILL');
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.running) return;
    this.#signal(signal);
    if (signalsThatDoNotEnd.has(signal)) return;
    if (await this.#gone(killDeadlineMs)) return;
    throw new TestbedError({
      failed: `${this.name} (process ${this.pid}) still runs ${killDeadlineMs} ms after ${signal}`,
      remedy:
        'use SIGKILL; when that was the signal, the process hangs in the kernel: look at its state with ps',
    });
  }

  #spawn(): void {
    const { command, args, cwd, env, logFile } = this.#spec;
    mkdirSync(dirname(logFile), { recursive: true });
    const log = openSync(logFile, 'a');
    try {
      // A process group of its own, so that Ctrl-C in a terminal reaches only us and we stop the
      // parts in order.
      const child = spawn(command, args, {
        stdio: ['ignore', log, log],
        detached: true,
        env: { ...process.env, ...env },
        ...(cwd === undefined ? {} : { cwd }),
      });
      this.#follow(child);
    } finally {
      closeSync(log);
    }
  }

  #follow(child: ChildProcess): void {
    const { pid } = child;
    this.#child = child;
    this.#end = undefined;
    child.unref(); // the watchdog ends a forgotten part, so it must not keep us alive
    child.once('error', (error) => (this.#end = error.message));
    if (pid === undefined) return;
    guard(pid);
    child.once('exit', (code, signal) => {
      this.#end = signal === null ? `exit code ${code}` : `signal ${signal}`;
      unguard(pid);
    });
  }

  async #ready(): Promise<void> {
    const { name, ready, readyDeadlineMs, logFile } = this.#spec;
    const limits = { what: `${name} to be ready`, deadlineMs: readyDeadlineMs, everyMs: 50 };
    try {
      await this.#spawned();
      await waitFor(async () => {
        if (this.#end !== undefined) throw endedEarly(name, this.#end);
        return await ready();
      }, limits);
    } catch (cause) {
      throw new TestbedError(
        {
          failed: `${name} did not start: ${messageOf(cause).split('\n', 1)[0]}`,
          lastLines: await lastLinesOf(logFile),
          remedy: `read ${logFile}; a port in use or a broken binary are the usual causes, a busy machine comes next`,
        },
        { cause },
      );
    }
  }

  /** Waits for the spawn or error event, which shows whether the program could be run. */
  async #spawned(): Promise<void> {
    if (this.#child !== undefined && this.#end === undefined) await once(this.#child, 'spawn');
  }

  /** Signals the whole group, so that helpers of the part go with it. */
  #signal(signal: NodeJS.Signals): void {
    if (this.pid === 0 || !this.running) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // The process ended a moment ago and its exit event is on the way.
    }
  }

  async #gone(deadlineMs: number): Promise<boolean> {
    const limits = { what: `${this.name} to end`, deadlineMs, everyMs: 20 };
    return await waitFor(() => !this.running, limits).catch(() => false);
  }
}

const endedEarly = (name: string, end: string): TestbedError =>
  new TestbedError({ failed: `${name} ended with ${end}`, remedy: 'read its log' });
