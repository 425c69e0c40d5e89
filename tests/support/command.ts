import { spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The end of a command: its exit code, and everything that it printed. */
export type Ended = { readonly code: number | null; readonly output: string };

/** A built command to run in a folder of its own. */
export type Command = {
  readonly name: 'lab' | 'cli';
  readonly folder: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** Runs a built command to its end. Nothing of the environment chooses another lab than `env`. */
export async function ranCommand({ name, folder, args, env = {} }: Command): Promise<Ended> {
  const child = spawn(process.execPath, [join(root, 'dist', `${name}.js`), ...args], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', REAL: '', AUTOSCALER: '', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })));
}
