import type { Argument, Command, Option } from 'commander';

/** A word that may be typed, and what it is for. */
export type Word = { readonly word: string; readonly help: string };

/** A flag as it can be typed. */
export type Flag = {
  readonly long: string;
  /** With its dash; undefined: there is none. */
  readonly short: string | undefined;
  readonly help: string;
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** The values it may have; empty: any. */
  readonly choices: readonly string[];
};

/** The words that may follow one command. */
export type CommandWords = {
  /** The words of the command after `dovetail`: one, or two for a command within another. */
  readonly path: readonly string[];
  readonly subcommands: readonly Word[];
  readonly flags: readonly Flag[];
  /** The values that its first argument may have; empty: any. */
  readonly firsts: readonly string[];
};

const choicesOf = ({ argChoices = [] }: Option | Argument): readonly string[] => argChoices;

/** The first sentence, which is what a shell has room for. */
const short = (text: string): string => text.split(/[.;:](?: |$)/, 1)[0] ?? text;

const help: Flag = {
  long: '--help',
  short: '-h',
  help: 'show flags and examples',
  takesValue: false,
  choices: [],
};

const flagOf = (option: Option): readonly Flag[] =>
  option.long === undefined || option.long === null || option.hidden
    ? []
    : [
        {
          long: option.long,
          short: option.short ?? undefined,
          help: short(option.description),
          takesValue: option.required || option.optional,
          choices: choicesOf(option),
        },
      ];

/** The subcommands of a command, by name. */
export const subcommandsOf = (command: Command): readonly Word[] =>
  command.commands.map((one) => ({ word: one.name(), help: short(one.description()) }));

/** The words of each command, and of those within it. */
export function commandWords(program: Command): readonly CommandWords[] {
  const of = (command: Command, path: readonly string[]): CommandWords => {
    const [first] = command.registeredArguments;
    return {
      path,
      subcommands: subcommandsOf(command),
      flags: [...command.options.flatMap(flagOf), help],
      firsts: first === undefined ? [] : choicesOf(first),
    };
  };
  return program.commands.flatMap((command) => [
    of(command, [command.name()]),
    ...command.commands.map((one) => of(one, [command.name(), one.name()])),
  ]);
}
