import type { Command } from 'commander';

import { type CommandWords, commandWords, subcommandsOf, type Word } from './words.js';

/** Words with their help, as `_describe` takes them: a colon ends the word. */
const described = (words: readonly Word[]): string =>
  words
    .map(({ word, help }) => {
      const text = `${word.replaceAll(':', '\\:')}${help === '' ? '' : `:${help}`}`;
      return `'${text.replaceAll("'", "'\\''")}'`;
    })
    .join(' ');

const bare = (words: readonly string[]): readonly Word[] =>
  words.map((word) => ({ word, help: '' }));

function placesOf({ path, subcommands, flags, firsts }: CommandWords): readonly string[] {
  const at = path.join(' ');
  const values = flags
    .filter(({ takesValue }) => takesValue)
    .map(({ long, short, choices }) => {
      const pattern = [short, long]
        .flatMap((flag) => (flag === undefined ? [] : [`'${at}:${flag}'`]))
        .join('|');
      return `    ${pattern}) found=(${described(bare(choices))}) ;;`;
    });
  const words = [
    ...subcommands,
    ...bare(firsts),
    ...flags.map(({ long, help }) => ({ word: long, help })),
  ];
  return [...values, `    '${at}:'*) found=(${described(words)}) ;;`];
}

/** A script by which zsh completes subcommands, flags, and the values that a flag may have. */
export function zshCompletion(program: Command): string {
  const all = commandWords(program);
  const parents = all
    .filter(({ subcommands }) => subcommands.length > 0)
    .map(({ path }) => path[0]);
  const names = [
    ...subcommandsOf(program),
    { word: '--help', help: 'show the commands' },
    { word: '--version', help: 'print the version' },
  ];
  return `#compdef dovetail
# dovetail completion zsh
_dovetail() {
  local at="\${words[2]}"
  local -a found
  if (( CURRENT == 2 )); then
    found=(${described(names)})
    _describe 'command' found
    return
  fi
  if (( CURRENT > 3 )); then
    case "$at" in ${parents.join('|')}) at="$at \${words[3]}" ;; esac
  fi
  case "$at:\${words[CURRENT-1]}" in
${all.flatMap(placesOf).join('\n')}
  esac
  (( \${#found} )) && _describe 'word' found && return
  _files
}
# Sourced, or found as a file of fpath.
if [[ "\${funcstack[1]}" = _dovetail ]]; then _dovetail "$@"; else compdef _dovetail dovetail; fi
`;
}
