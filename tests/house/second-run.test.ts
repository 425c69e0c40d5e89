import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

/** The commands of a file that take the options of a second run. */
const commandsOf = (file: string): readonly string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/"command": "(.*\$JEST_ARGS.*)"/g)].map(
    ([, command = '']) => command,
  );

// A second run asks each project for the tests that failed, and most have none.
test.each(['nx.json', 'tests/house/package.json'])(
  'a second run passes the projects of %s in which nothing failed',
  (file) => {
    const commands = commandsOf(file);
    expect(commands).not.toEqual([]);
    expect(commands.filter((command) => !command.includes('--passWithNoTests'))).toEqual([]);
  },
);
