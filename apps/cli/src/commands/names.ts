import { InvalidArgumentError } from 'commander';

/** Reads a name, which an unset variable of a shell leaves empty. It would fit everything. */
export const nameOf =
  (wanted: string) =>
  (text: string): string => {
    if (text.trim() === '') throw new InvalidArgumentError(`It is empty: write ${wanted}.`);
    return text;
  };
