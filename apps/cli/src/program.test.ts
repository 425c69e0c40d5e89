import { decisionKinds } from '@dovetail/contracts';
import { expect, test } from '@jest/globals';

import { kindChoices } from './commands/decisions.js';
import { programOf } from './program.js';

const parse = async (
  ...args: readonly string[]
): Promise<{ readonly code: string | undefined; readonly text: string }> => {
  let text = '';
  const program = programOf({});
  for (const command of [program, ...program.commands])
    command.configureOutput({
      writeOut: (one) => {
        text += one;
      },
      writeErr: (one) => {
        text += one;
      },
    });
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    return { code: (error as { code?: string }).code, text };
  }
  return { code: undefined, text };
};

test.each<[readonly string[], string, RegExp]>([
  [['simulat'], 'commander.unknownCommand', /Did you mean simulate/],
  [['simulate'], 'commander.missingMandatoryOptionValue', /--file/],
  [['simulate', '-f', 'x', '--budget', 'soon'], 'commander.invalidArgument', /write a duration/],
  [['simulate', '-f', 'x', '--seed', '-1'], 'commander.invalidArgument', /whole number/],
  [['simulate', '-f', 'x', '--fail-over-cost', 'much'], 'commander.invalidArgument', /US dollars/],
  [['simulate', '-f', 'x', '-o', 'xml'], 'commander.invalidArgument', /table, json, yaml/],
  [
    ['decisions', '--since', 'yesterday'],
    'commander.invalidArgument',
    /write a duration from 0s to 168h/,
  ],
  [['decisions', '--since', '200h'], 'commander.invalidArgument', /kept for 7 days/],
  [['decisions', '--kind', 'lunch'], 'commander.invalidArgument', /plan, admit, refuse, launch/],
  [['decisions', '--cluster', 'a.b'], 'commander.invalidArgument', /letters, digits/],
  [['decisions', '-o', 'yaml'], 'commander.invalidArgument', /table, json/],
])('%j is refused with a hint', async (args, code, hint) =>
  expect(await parse(...args)).toMatchObject({ code, text: expect.stringMatching(hint) }),
);
test.each(['simulate', 'decisions'])('%s --help has examples and exit codes', async (command) =>
  expect(await parse(command, '--help')).toMatchObject({
    code: 'commander.helpDisplayed',
    text: expect.stringMatching(/Examples:[\s\S]*Exit codes:/),
  }),
);
test('every kind of decision can be chosen', () => expect(kindChoices).toEqual(decisionKinds));
