import { Argument, type Command } from 'commander';

import { duration } from './durations.js';
import { wholeNumber } from './lab-flags.js';
import { exampleText, pull, undoOption } from './lab-lever.js';

function addFail(lab: Command): void {
  lab
    .command('fail')
    .description('The next calls of AWS fail.')
    .argument('[action]', 'service:Action, or * for all (the refusal of another lists them)')
    .option('--code <code>', "AWS' error code", 'InternalError')
    .option('--times <count>', 'how many calls', wholeNumber, 1)
    .option('--late-loss', 'let the call have its effect, and lose only its answer', false)
    .option(...undoOption)
    .addHelpText(
      'after',
      exampleText([
        'fail ec2:CreateFleet --times 3',
        'fail ec2:CreateFleet --code InsufficientInstanceCapacity',
        'fail ec2:CreateFleet --late-loss',
        'fail --undo',
      ]),
    )
    .action(
      (
        action: string | undefined,
        flags: { code: string; times: number; lateLoss: boolean; undo: boolean },
        command: Command,
      ) => {
        if (action === undefined && !flags.undo)
          command.error(
            "error: name an action, such as ec2:CreateFleet, or '*' for all; --undo ends all failures",
          );
        return pull((twin, { endFailures, fail }) =>
          flags.undo ? endFailures(twin) : fail(twin, action ?? '*', flags),
        );
      },
    );
}

function addThrottle(lab: Command): void {
  lab
    .command('throttle')
    .description('AWS allows only so many calls of an action a second.')
    .argument('<action>', 'service:Action')
    .option('--per-second <count>', 'calls a second', wholeNumber, 1)
    .option(...undoOption)
    .addHelpText(
      'after',
      exampleText(['throttle ec2:CreateFleet --per-second 0', 'throttle ec2:CreateFleet --undo']),
    )
    .action((action: string, { perSecond, undo }: { perSecond: number; undo: boolean }) =>
      pull((twin, { throttle }) => throttle(twin, action, undo ? undefined : perSecond)),
    );
}

function addSlow(lab: Command): void {
  lab
    .command('slow')
    .description('Each call of an action takes so long; 0s ends it.')
    .argument('<action>', 'service:Action, or * for all')
    .addArgument(new Argument('<duration>', 'how long').argParser(duration))
    .addHelpText('after', exampleText(['slow ec2:CreateFleet 5s', "slow '*' 0s"]))
    .action((action: string, ms: number) => pull((twin, { slow }) => slow(twin, action, ms)));
}

/** Adds the levers of calls that fail, wait or are refused. */
export function addCallLevers(lab: Command): void {
  addFail(lab);
  addThrottle(lab);
  addSlow(lab);
}
