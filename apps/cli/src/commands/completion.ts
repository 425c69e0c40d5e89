import { Argument, type Command } from 'commander';

import { terminal } from '../terminal.js';

const examples = `
The shell then completes subcommands, flags, and the values of flags that have a list of them. Elsewhere it offers files.

Examples:
  $ source <(dovetail completion bash)                       # for this shell; zsh likewise, after compinit
  $ dovetail completion bash > ~/.local/share/bash-completion/completions/dovetail
  $ dovetail completion zsh > "\${fpath[1]}/_dovetail"        # for each new zsh
  $ dovetail completion fish > ~/.config/fish/completions/dovetail.fish

Exit codes: 0 printed; 64 bad flags.`;

/** The scripts by shell, each loaded when it is asked for. */
const scripts = {
  bash: async () => (await import('../completion/bash.js')).bashCompletion,
  zsh: async () => (await import('../completion/zsh.js')).zshCompletion,
  fish: async () => (await import('../completion/fish.js')).fishCompletion,
} as const;

/** `dovetail completion SHELL` prints the script by which a shell completes command lines. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('Print the script by which bash, zsh or fish completes the command line.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText('after', examples)
    .action(async (shell: keyof typeof scripts) => {
      const completion = await scripts[shell]();
      terminal.out(completion(program));
    });
}
