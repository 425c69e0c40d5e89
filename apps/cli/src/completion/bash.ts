import type { Command } from 'commander';

import { type CommandWords, commandWords, subcommandsOf } from './words.js';

/** The words that may come at one place of a command line; empty: the names of files. */
type Place = { readonly pattern: string; readonly words: readonly string[] };

function placesOf({ path, subcommands, flags, firsts }: CommandWords): readonly Place[] {
  const at = path.join(' ');
  const values = flags
    .filter(({ takesValue }) => takesValue)
    .flatMap(({ long, short, choices }) =>
      [short, long].flatMap((flag) =>
        flag === undefined ? [] : [{ pattern: `'${at}:${flag}'`, words: choices }],
      ),
    );
  const words = [
    ...subcommands.map(({ word }) => word),
    ...firsts,
    ...flags.map(({ long }) => long),
  ];
  return [...values, { pattern: `'${at}:'*`, words }];
}

/** A script by which bash completes subcommands, flags, and the values that a flag may have. */
export function bashCompletion(program: Command): string {
  const all = commandWords(program);
  const names = subcommandsOf(program).map(({ word }) => word);
  const parents = all
    .filter(({ subcommands }) => subcommands.length > 0)
    .map(({ path }) => path[0]);
  const cases = all
    .flatMap(placesOf)
    .map(({ pattern, words }) => `    ${pattern}) words='${words.join(' ')}' ;;`);
  return `# dovetail completion bash
_dovetail() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words='' at="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${names.join(' ')} --help --version' -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$at" in ${parents.join('|')}) at="$at \${COMP_WORDS[2]}" ;; esac
  fi
  case "$at:\${COMP_WORDS[COMP_CWORD-1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _dovetail dovetail
`;
}
