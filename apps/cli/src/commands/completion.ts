import { Argument, type Command } from 'commander';

import { terminal } from '../terminal.js';

const examples = `
Bash then completes subcommands, flags, and the values of flags that have a list of them. Elsewhere it offers files.

Examples:
  $ source <(dovetail completion bash)                       # for this shell
  $ dovetail completion bash > ~/.local/share/bash-completion/completions/dovetail

Exit codes: 0 printed; 64 bad flags.`;

/** `dovetail completion bash` prints the script by which a shell completes command lines. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('Print the script by which bash completes the command line.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash']))
    .addHelpText('after', examples)
    .action(async () => {
      const { bashCompletion } = await import('../completion/bash.js');
      terminal.out(bashCompletion(program));
    });
}
