import type { Command } from 'commander';

import { type CommandWords, commandWords, type Flag, subcommandsOf, type Word } from './words.js';

const quoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const wordLine = (condition: string, { word, help }: Word): string =>
  `complete -c dovetail -n ${quoted(condition)} -f -a ${quoted(word)} -d ${quoted(help)}`;

function flagLine(condition: string, { long, short, help, takesValue, choices }: Flag): string {
  const letter = short === undefined ? '' : ` -s ${short.slice(1)}`;
  // -x: a value follows, and no file can be it. -r: a value follows, which may be a file.
  const value = !takesValue
    ? ''
    : choices.length === 0
      ? ' -r'
      : ` -x -a ${quoted(choices.join(' '))}`;
  return `complete -c dovetail -n ${quoted(condition)} -l ${long.slice(2)}${letter}${value} -d ${quoted(help)}`;
}

function linesOf({ path, subcommands, flags, firsts }: CommandWords): readonly string[] {
  const [name = '', within = ''] = path;
  const seen = `__dovetail_at ${name}${within === '' ? '' : ` ${within}`}`;
  return [
    ...subcommands.map((word) => wordLine(`__dovetail_alone ${name}`, word)),
    ...firsts.map((word) => wordLine(seen, { word, help: '' })),
    ...flags.map((flag) => flagLine(seen, flag)),
  ];
}

/** A script by which fish completes subcommands, flags, and the values that a flag may have. */
export function fishCompletion(program: Command): string {
  const names = subcommandsOf(program).map((word) => wordLine('__dovetail_alone', word));
  return `# dovetail completion fish
# Whether the command line begins with these words.
function __dovetail_at
  set -l typed (commandline -opc)
  test (count $typed) -gt (count $argv); or return 1
  set -l last (math (count $argv) + 1)
  test "$typed[2..$last]" = "$argv"
end
# Whether the command line consists of these words, before the one that is typed.
function __dovetail_alone
  test (count (commandline -opc)) -eq (math (count $argv) + 1); or return 1
  test (count $argv) -eq 0; or __dovetail_at $argv
end
complete -c dovetail -n __dovetail_alone -f -l version -s V -d 'print the version'
complete -c dovetail -n __dovetail_alone -f -l help -s h -d 'show the commands'
${[...names, ...commandWords(program).flatMap(linesOf)].join('\n')}
`;
}
