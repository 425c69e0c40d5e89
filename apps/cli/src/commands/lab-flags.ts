import { type Command, InvalidArgumentError, Option } from 'commander';

import { duration } from './durations.js';

/** A count, from 0 on. */
export function wholeNumber(text: string): number {
  if (!/^[0-9]{1,6}$/.test(text))
    throw new InvalidArgumentError('write a whole number from 0 to 999999.');
  return Number(text);
}

/** Adds the time from the notice of an interruption to the end. EC2 gives two minutes. */
export const noticeOption = (command: Command): Command =>
  command.addOption(
    new Option('--notice <duration>', 'the time from notice to end')
      .argParser(duration)
      .default(120_000, '2m'),
  );
