// Programs that fetch parts of the image, and how it is told that one cannot.
import { execFileSync } from 'node:child_process';

/** The runtime was not to be had. The message names the remedy. */
export class RuntimeUnavailable extends Error {}

/** Runs a program, answers its output, or throws RuntimeUnavailable with its last line. */
export function run(command: string, args: readonly string[], cwd: string, remedy: string): string {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (thrown) {
    const { stderr, message } = thrown as { readonly stderr?: string; readonly message: string };
    const said = stderr?.trim().split('\n').at(-1) || message;
    throw new RuntimeUnavailable(`${command} ${args.at(-1)} failed: ${said}; ${remedy}`);
  }
}
