import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { programOf } from '../program.js';
import { bashCompletion } from './bash.js';
import { fishCompletion } from './fish.js';
import { zshCompletion } from './zsh.js';

const program = programOf({});

const has = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

/** Leaves a shell out that this machine lacks, and says so. */
function within(shell: string, needed: readonly string[], tests: () => void): void {
  const missing = needed.filter((command) => !has(command));
  if (missing.length === 0) describe(shell, tests);
  else
    test(
      shell,
      () =>
        void process.stdout.write(
          `LEFT OUT: completion by ${shell}: there is no ${missing.join(', ')}\n`,
        ),
    );
}

const cases: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
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
  [
    ['explain', 'p'],
    ['pod', 'pool'],
  ],
  [['completion', 'z'], ['zsh']],
  [['lab', 'int'], ['interrupt']],
  [['lab', 'interrupt', 'some-node', '--no'], ['--notice']],
  [
    ['lab', 'instances', '-o', ''],
    ['table', 'json'],
  ],
];

within('bash', ['bash'], () => {
  const script = bashCompletion(program);
  /** The completions that a real bash offers for the last of these words. */
  const offered = (words: readonly string[]): readonly string[] => {
    const line = `COMP_WORDS=(dovetail "$@"); COMP_CWORD=$#; _dovetail; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = execFileSync('bash', ['-c', `${script}\n${line}`, 'bash', ...words], {
      encoding: 'utf8',
    });
    return text.split('\n').filter(Boolean);
  };

  test.each(cases)('completes %j', (words, expected) => expect(offered(words)).toEqual(expected));

  test('every subcommand is completed, and files where there is no list', () => {
    const names = program.commands.map((command) => command.name());
    expect(offered([''])).toEqual(expect.arrayContaining(names));
    expect(offered(['status', '--kubeconfig', ''])).toEqual([]);
  });
});

within('fish', ['fish'], () => {
  const script = fishCompletion(program);
  const offered = (words: readonly string[]): readonly string[] => {
    const typed = `complete -C 'dovetail ${words.join(' ')}'`;
    const text = execFileSync('fish', ['--no-config', '-c', `${script}\n${typed}`], {
      encoding: 'utf8',
      env: { ...process.env, HOME: tmpdir() },
    });
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t', 1)[0] ?? '');
  };

  test.each(cases)('completes %j', (words, expected) =>
    expect(offered(words).toSorted()).toEqual(expected.toSorted()),
  );

  test('every subcommand is completed, with its help', () => {
    const names = program.commands.map((command) => command.name());
    expect(offered([''])).toEqual(expect.arrayContaining(names));
    expect(script).toContain("-a 'top' -d 'Show nodes as they fill");
  });
});

within('zsh', ['zsh', 'script'], () => {
  /** A real zsh on a terminal, which has read the script. It types words, and a tab after them. */
  async function completed(words: readonly string[], wanted: readonly string[]): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'dovetail-zsh-'));
    writeFileSync(join(folder, 'dovetail.zsh'), zshCompletion(program));
    const start = `setopt nolistambiguous; autoload -U compinit; compinit -D -u; source ${folder}/dovetail.zsh; PS1='ready>'`;
    const shell = spawn('script', ['-qec', 'stty cols 200 rows 50; exec zsh -f -i', '/dev/null'], {
      env: { ...process.env, HOME: folder, TERM: 'dumb' },
    });
    let text = '';
    shell.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const until = (done: () => boolean): Promise<void> =>
      new Promise((resolve, reject) => {
        const timer = setInterval(() => {
          if (!done() && shell.exitCode === null) return;
          clearInterval(timer);
          if (done()) resolve();
          else reject(new Error(`zsh ended: ${text}`));
        }, 20);
      });
    try {
      shell.stdin.write(`${start}\n`);
      await until(() => /^ready>/m.test(text) || /[\r\n]ready>/.test(text));
      const from = text.length;
      shell.stdin.write(`dovetail ${words.join(' ')}\t`);
      await until(() => wanted.every((word) => text.slice(from).includes(word)));
      return text.slice(from);
    } finally {
      shell.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test.each(cases)('completes %j', async (words, expected) => {
    const text = await completed(words, expected);
    for (const word of expected) expect(text).toContain(word);
  });
});
