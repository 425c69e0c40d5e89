import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { decisionKinds } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { kindChoices } from './commands/decisions.js';
import { programOf } from './program.js';
import { readVersions } from './simulate/read-kinds.js';

const parse = async (
  ...args: readonly string[]
): Promise<{ readonly code: string | undefined; readonly text: string }> => {
  let text = '';
  const program = programOf({});
  for (const command of [program, ...program.commands.flatMap((one) => [one, ...one.commands])])
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
  [['simulate'], 'commander.error', /nothing to read: write -f with a file or folder/],
  [['simulate', 'examples/web', 'x'], 'commander.error', /write -f examples\/web -f x\n/],
  [
    ['simulate', '-f', 'x', '--bound-time', '5s'],
    'commander.invalidArgument',
    /no longer depends on time: write --bound-steps/,
  ],
  [['simulate', '-f', 'x', '--spot-to-spot'], 'commander.error', /guide --consolidate: add it/],
  [['simulate', '-f', 'x', '--move-cost', '0'], 'commander.error', /guide --consolidate: add it/],
  [['simulate', '-f', 'x', '--zones', 'a,,b'], 'commander.invalidArgument', /names of zones/],
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
  [['explain', 'service', 'x'], 'commander.invalidArgument', /Allowed choices are pod, node, pool/],
  [['explain', 'node'], 'commander.missingArgument', /name/],
  ...['pod', 'node', 'pool', 'claim', 'decision'].map(
    (kind): [readonly string[], string, RegExp] => [
      ['explain', kind, ''],
      'commander.invalidArgument',
      /'name'. It is empty: write namespace\/name of a pod, the name of a pool/,
    ],
  ),
  [['replay', ' '], 'commander.invalidArgument', /'decision'. It is empty: write the id of a dec/],
  ...['m5.large', 'm5.large=', 'm5.large=0', 'm5.large=$1', '=1', 'm5.large/=1'].map(
    (price): [readonly string[], string, RegExp] => [
      ['replay', 'x', '--price', price],
      'commander.invalidArgument',
      /TYPE\/ZONE\/CAPACITY-TYPE\), = and US dollars an hour above 0, such as m5\.large=0\.05/,
    ],
  ),
  [['explain', 'node', 'x', '--reaper', 'here'], 'commander.invalidArgument', /http:\/\//],
  [['shadow', '--prices', 'here'], 'commander.invalidArgument', /http:\/\//],
  [
    ['shadow', '--consolidation', 'some'],
    'commander.invalidArgument',
    /none, delete, replace, all, search/,
  ],
  [['shadow', '--for', 'ever'], 'commander.invalidArgument', /write a duration/],
  [['convert'], 'commander.missingMandatoryOptionValue', /--file/],
  [
    ['convert', '-f', 'x', '--role', 'r', '--instance-profile', 'p'],
    'commander.conflictingOption',
    /role/,
  ],
  [
    ['convert', '-f', 'x', '--kubernetes-version', 'new'],
    'commander.invalidArgument',
    /such as 1.34/,
  ],
  [['lab', 'interupt', 'x'], 'commander.unknownCommand', /Did you mean interrupt/],
  [['lab', 'clock', '-1h'], 'commander.unknownOption', /unknown option/],
  [['lab', 'price', '0'], 'commander.invalidArgument', /from 0.01 to 1000/],
  [['lab', 'capacity', 'some'], 'commander.invalidArgument', /write a whole number/],
  [['lab', 'fail'], 'commander.error', /name an action/],
  [['top', '--sort', 'colour'], 'commander.invalidArgument', /age, name, pool/],
  [['top', '--interval', '1ms'], 'commander.invalidArgument', /200ms/],
  [['status', '-o', 'yaml'], 'commander.invalidArgument', /table, json/],
  [['convert', 'values'], 'commander.missingArgument', /file/],
  [['convert', 'values', 'x', '--region', 'west'], 'commander.invalidArgument', /us-west-2/],
  [['uninstall-check', '--settle', 'soon'], 'commander.invalidArgument', /write a duration/],
])('%j is refused with a hint', async (args, code, hint) =>
  expect(await parse(...args)).toMatchObject({ code, text: expect.stringMatching(hint) }),
);
test.each([
  'simulate',
  'decisions',
  'explain',
  'shadow',
  'status',
  'top',
  'nats-users',
  'nats-streams',
  'lab',
  'lab instances',
  'lab interrupt',
  'lab drain-zone',
  'lab fail',
  'lab price',
  'lab clock',
  'convert',
  'convert values',
  'uninstall-check',
  'completion',
])('%s --help has examples and exit codes', async (command) =>
  expect(await parse(...command.split(' '), '--help')).toMatchObject({
    code: 'commander.helpDisplayed',
    text: expect.stringMatching(/Examples:[\s\S]*Exit codes:/),
  }),
);
test('help of a command that takes a cluster says where its name comes from', async () => {
  for (const command of ['decisions', 'status', 'nats-users'])
    expect((await parse(command, '--help')).text.replace(/\s+/g, ' ')).toContain(
      'name of the cluster (default: CLUSTER_NAME, then lab)',
    );
});

test('simulate --help names every kind that is read', async () => {
  const { text } = await parse('simulate', '--help');
  for (const kind of readVersions.keys()) expect(text).toMatch(new RegExp(`\\b${kind}\\b`));
});
test('--version prints the version of the package', async () => {
  const file = join(import.meta.dirname, '..', 'package.json');
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  expect(await parse('--version')).toEqual({ code: 'commander.version', text: `${version}\n` });
});
test('an empty AWS_REGION counts as none', () => {
  const shadow = programOf({ AWS_REGION: '' }).commands.find((one) => one.name() === 'shadow');
  expect(shadow?.opts()['catalog']).toBe('us-east-1');
});
test.each([
  ['--budget', /200ms/],
  ['--min-values', /strict/],
])('simulate --help tells the default of %s as it can be written', async (flag, text) => {
  const help = (await parse('simulate', '--help')).text;
  expect(help.slice(help.indexOf(flag), help.indexOf(flag) + 260)).toMatch(text);
});
test.each([
  [['shadow'], '--budget', 'default: 200ms'],
  [['lab', 'interrupt'], '--notice', 'default: 2m'],
])('%s --help tells the default of %s with its unit', async (path, flag, text) => {
  const help = (await parse(...path, '--help')).text.replaceAll(/\s+/g, ' ');
  expect(help.slice(help.indexOf(flag), help.indexOf(flag) + 120)).toContain(text);
});
test('every kind of decision can be chosen', () => expect(kindChoices).toEqual(decisionKinds));
