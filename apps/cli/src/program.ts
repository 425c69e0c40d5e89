import { Command, CommanderError } from 'commander';

import { addCompletion } from './commands/completion.js';
import { addConvert } from './commands/convert.js';
import { addDecisions } from './commands/decisions.js';
import { addExplain } from './commands/explain.js';
import { addLab } from './commands/lab.js';
import { addNatsStreams } from './commands/nats-streams.js';
import { addNatsUsers } from './commands/nats-users.js';
import { addReplay } from './commands/replay.js';
import { addShadow } from './commands/shadow.js';
import { addSimulate } from './commands/simulate.js';
import { addStatus } from './commands/status.js';
import { addTop } from './commands/top.js';
import { addUninstallCheck } from './commands/uninstall-check.js';

/** The version of the package; a test compares them. */
const version = '0.1.0';

/** A wrong flag or argument. Other bad input has the same code (EX_USAGE). */
const usageError = 64;

/**
 * The `dovetail` command with its subcommands. Each one is a file in `commands/` with one `add…`
 * function.
 */
export function programOf(environment: Readonly<Record<string, string | undefined>>): Command {
  const program = new Command('dovetail')
    .description('Dovetail launches and retires EC2 nodes for Kubernetes.')
    .version(version, '-V, --version', 'print the version')
    .showHelpAfterError('(add --help for the flags and examples)')
    .exitOverride();
  addSimulate(program, environment);
  addDecisions(program, environment);
  addExplain(program, environment);
  addReplay(program, environment);
  addShadow(program, environment);
  addStatus(program, environment);
  addTop(program, environment);
  addLab(program);
  addNatsUsers(program, environment);
  addNatsStreams(program, environment);
  addConvert(program);
  addUninstallCheck(program);
  addCompletion(program);
  program
    .command('version')
    .description('Print the version, as --version does.')
    .action(() => void process.stdout.write(`${version}\n`));
  program.commands
    .flatMap((one) => [one, ...one.commands])
    .forEach((command) =>
      command.exitOverride().showHelpAfterError('(add --help for the flags and examples)'),
    );
  return program;
}

/** Runs a command line. Errors go to standard error and become the exit code. */
export async function runProgram(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : usageError;
  }
}
