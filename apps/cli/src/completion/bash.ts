import type { Command, Option } from 'commander';

const choicesOf = ({ argChoices = [] }: Option): readonly string[] => argChoices;

/** The words that may come at one place of a command line; empty: the names of files. */
type Words = { readonly pattern: string; readonly words: readonly string[] };

function wordsOf(command: Command): readonly Words[] {
  const name = command.name();
  const { options } = command;
  const values = options
    .filter((option) => option.required || option.optional)
    .flatMap((option) =>
      [option.short, option.long]
        .filter((flag) => flag !== undefined)
        .map((flag) => ({ pattern: `${name}:${flag}`, words: choicesOf(option) })),
    );
  const flags = [...options.flatMap(({ long }) => long ?? []), '--help'];
  const firsts = command.registeredArguments[0]?.argChoices ?? [];
  return [...values, { pattern: `${name}:*`, words: [...firsts, ...flags] }];
}

/** A script by which bash completes subcommands, flags, and the values that a flag may have. */
export function bashCompletion(program: Command): string {
  const names = program.commands.map((command) => command.name());
  const cases = program.commands
    .flatMap(wordsOf)
    .map(({ pattern, words }) => `    ${pattern}) words='${words.join(' ')}' ;;`);
  return `# dovetail completion bash
_dovetail() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${names.join(' ')} --help --version' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}:\${COMP_WORDS[COMP_CWORD-1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _dovetail dovetail
`;
}
