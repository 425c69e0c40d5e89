import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';

// The watchdog is a shell that reads lists of process groups from a pipe whose other end only this
// process holds. However this process ends, SIGKILL included, the kernel closes that end, and the
// shell kills the groups of the last list. The alternatives cover less. Exit handlers do not run on
// SIGKILL. PR_SET_PDEATHSIG is Linux only and fires when the thread that spawned the child ends.
const script = `
trap '' HUP INT TERM
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
`;

const guarded = new Set<number>();
let watchdog: ChildProcess | undefined;

/**
 * Makes the process group die with this process. The child must lead its group (`detached: true`).
 */
export function guard(pid: number): void {
  guarded.add(pid);
  report();
}

/** Ends the guard. The process has ended, and its number may belong to another one now. */
export function unguard(pid: number): void {
  guarded.delete(pid);
  report();
}

function report(): void {
  watchdog ??= startWatchdog();
  watchdog.stdin?.write(`${[...guarded].join(' ')}\n`);
}

function startWatchdog(): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', script], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Neither the shell nor the pipe may keep this process alive.
  shell.unref();
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  shell.stdin.on('error', () => undefined); // "exit" below deals with a watchdog that is gone
  shell.once('error', () => undefined);
  shell.once('exit', () => {
    watchdog = undefined;
    if (guarded.size > 0) report();
  });
  return shell;
}
