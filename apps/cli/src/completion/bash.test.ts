import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { programOf } from '../program.js';
import { bashCompletion } from './bash.js';

const script = bashCompletion(programOf({}));

/** The completions that a real bash offers for the last of these words. */
function offered(...words: readonly string[]): readonly string[] {
  const line = `COMP_WORDS=(dovetail "$@"); COMP_CWORD=$#; _dovetail; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', `${script}\n${line}`, 'bash', ...words], {
    encoding: 'utf8',
  });
  return text.split('\n').filter(Boolean);
}

test.each<[readonly string[], readonly string[]]>([
  [['st'], ['status']],
  [
    ['status', '-o', ''],
    ['table', 'json'],
  ],
  [['status', '--wi'], ['--wide']],
  [['status', '--wide', '--nats-k'], ['--nats-key']],
  [
    ['decisions', '--kind', 'launch'],
    ['launch', 'launch-failed'],
  ],
  [['explain', ''], expect.arrayContaining(['node', '--reaper'])],
  [['status', '--kubeconfig', ''], []],
])('bash completes %j', (words, expected) => expect(offered(...words)).toEqual(expected));

test('every subcommand is completed', () =>
  expect(offered('')).toEqual(
    expect.arrayContaining(programOf({}).commands.map((command) => command.name())),
  ));
