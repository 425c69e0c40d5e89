import { execFile, spawn } from 'node:child_process';

import { isUnavailable, obtainKubectl } from '@dovetail/testbed';
import { describe } from 'vitest';

/** The output so far of a kubectl that keeps running. `end` ends it. */
type RunningKubectl = { readonly out: () => string; readonly end: () => Promise<void> };

/** The real kubectl, for one cluster. */
export type Kubectl = {
  (
    args: readonly string[],
    input?: string,
  ): Promise<{ readonly code: number; readonly out: string }>;
  readonly start: (args: readonly string[]) => RunningKubectl;
};

const program = await obtainKubectl();
if (isUnavailable(program))
  process.stdout.write(
    `LEFT OUT: what kubectl sees of the Kubernetes twin and the real control plane: ${program.unavailable.split('\n', 1)[0]}\n`,
  );

/** A group of tests that drive kubectl. It is left out if there is no kubectl. */
export const describeWithKubectl = (name: string, tests: () => void): void => {
  (isUnavailable(program) ? describe.skip : describe)(name, tests);
};

export function kubectlWith(kubeconfig: string): Kubectl {
  const path = isUnavailable(program) ? 'kubectl' : program.path;
  const once = (
    args: readonly string[],
    input?: string,
  ): Promise<{ readonly code: number; readonly out: string }> =>
    new Promise((resolve) => {
      const child = execFile(
        path,
        ['--kubeconfig', kubeconfig, ...args],
        { timeout: 60_000, maxBuffer: 1 << 26 },
        (error, stdout, stderr) => {
          const failed = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
          resolve({ code: failed, out: `${stdout}${stderr}` });
        },
      );
      child.stdin?.end(input ?? '');
    });
  const start = (args: readonly string[]): RunningKubectl => {
    const child = spawn(path, ['--kubeconfig', kubeconfig, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        out += chunk;
      });
    const ended = new Promise<void>((resolve) => {
      child.once('close', () => resolve());
    });
    return {
      out: () => out,
      end: async () => {
        child.kill();
        await ended;
      },
    };
  };
  return Object.assign(once, { start });
}
