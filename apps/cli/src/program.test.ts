import { expect, test } from '@jest/globals';
import { programOf } from './program.js';

const parse = async (...args: readonly string[]): Promise<{ readonly code: string | undefined; readonly text: string }> => {
  let text = '';
  const program = programOf({});
  for (const command of [program, ...program.commands]) command.configureOutput({ writeOut: (one) => { text += one; }, writeErr: (one) => { text += one; } });
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
])('%j is refused with a hint', async (args, code, hint) => expect(await parse(...args)).toMatchObject({ code, text: expect.stringMatching(hint) }));
test('--help has examples and exit codes', async () => expect(await parse('simulate', '--help')).toMatchObject({ code: 'commander.helpDisplayed', text: expect.stringMatching(/Examples:[\s\S]*Exit codes:/) }));
