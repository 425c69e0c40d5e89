import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { isUnavailable, obtainKubectl, run } from '@dovetail/testbed';

const guides = join(import.meta.dirname, '..', '..', 'docs', 'guides');

/**
 * The commands for a shell under a heading of a guide, one text each. Lines that are indented, `fi`
 * and `done` belong to the command before them.
 */
export async function commandsOf(page: string, heading: string): Promise<readonly string[]> {
  const text = await readFile(join(guides, page), 'utf8');
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const blocks = section
    .split('\n## ', 1)
    .join('')
    .matchAll(/^( *)```sh\n([^]*?)^\1```$/gm);
  return [...blocks].flatMap(([, indent = '', block = '']) =>
    block
      .replaceAll(new RegExp(`^${indent}`, 'gm'), '')
      .trimEnd()
      .split(/\n(?! |(?:fi|done)\b)/),
  );
}

/** Where a command runs. `PATH` of `env` goes before the path of the tests, and ends in a colon. */
type Shell = {
  readonly kubeconfig: string;
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
};

/** Runs a command of a guide by a shell whose kubectl is that of the tests. Answers its output. */
export async function inShell(
  command: string,
  { kubeconfig, folder, env = {} }: Shell,
): Promise<string> {
  const kubectl = await obtainKubectl();
  if (isUnavailable(kubectl)) throw new Error(kubectl.unavailable);
  const path = `${dirname(kubectl.path)}:${process.env['PATH'] ?? ''}`;
  const { stdout } = await run('bash', ['--norc', '-c', `set -o pipefail; ${command}`], {
    deadlineMs: 180_000,
    remedy: 'read its output',
    env: { ...env, KUBECONFIG: kubeconfig, PATH: `${env['PATH'] ?? ''}${path}` },
    ...(folder === undefined ? {} : { cwd: folder }),
  });
  return stdout;
}
