import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import {
  dollars,
  durationMs,
  oneOf,
  readSettings,
  SettingsError,
  text,
  wholeNumber,
  yesOrNo,
} from './settings.js';

const program = { name: 'launcher', purpose: 'launches nodes' };
const table = {
  cluster: { env: 'CLUSTER_NAME', flag: 'cluster-name', help: 'Name of the cluster.', parse: text },
  port: {
    env: 'HTTP_PORT',
    flag: 'http-port',
    help: 'Port to listen on.',
    fallback: 8080,
    parse: wholeNumber({ least: 0, most: 65_535 }),
  },
};
const read = (env: Record<string, string>, ...args: string[]) =>
  readSettings(program, table, { env, args });

describe('settings', () => {
  test('a flag wins over the environment, which wins over the default', () => {
    expect(read({ CLUSTER_NAME: 'a' })).toEqual({
      kind: 'run',
      settings: { cluster: 'a', port: 8080 },
    });
    expect(read({ CLUSTER_NAME: 'a', HTTP_PORT: '1' })).toEqual({
      kind: 'run',
      settings: { cluster: 'a', port: 1 },
    });
    expect(read({ CLUSTER_NAME: 'a', HTTP_PORT: '1' }, '--http-port', '2')).toEqual({
      kind: 'run',
      settings: { cluster: 'a', port: 2 },
    });
  });

  test('all that is wrong is told at once, with flag, variable, value and remedy', () => {
    expect(() => read({ HTTP_PORT: 'many' })).toThrow(SettingsError);
    expect(() => read({ HTTP_PORT: 'many' })).toThrow(
      /--cluster-name \(or CLUSTER_NAME\) is missing[\s\S]*--http-port \(or HTTP_PORT\) is "many": give a whole number from 0 to 65535/,
    );
  });

  test('an empty variable counts as absent, as charts write unset values', () => {
    expect(() => read({ CLUSTER_NAME: '' })).toThrow(/CLUSTER_NAME\) is missing/);
  });

  test('a flag that does not exist is refused by name', () => {
    expect(() => read({}, '--clutser-name', 'x')).toThrow(/clutser-name/);
  });

  test('--version prints the name of the program and the version of the package', () => {
    const root = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
    ) as { readonly version: string };
    expect(read({}, '--version')).toEqual({ kind: 'help', text: `launcher ${root.version}\n` });
  });

  test('help names every flag, variable and default', () => {
    const help = read({}, '--help');
    expect(help.kind === 'help' && help.text).toMatch(
      /--cluster-name, CLUSTER_NAME \(required\)[\s\S]*--http-port, HTTP_PORT \(default 8080\)/,
    );
  });

  test.each([
    [15_000, '15s'],
    [40, '40ms'],
    [0, '0s'],
  ])('help shows a duration of %i ms as %s', (fallback, shown) => {
    const help = readSettings(
      program,
      {
        waitMs: {
          env: 'WAIT',
          flag: 'wait',
          help: 'How long to wait.',
          fallback,
          parse: durationMs,
        },
      },
      { env: {}, args: ['--help'] },
    );
    expect(help.kind === 'help' && help.text).toContain(`--wait, WAIT (default ${shown})`);
  });
});

test.each([
  ['250ms', 250],
  ['10s', 10_000],
  ['1h30m', 5_400_000],
  ['0s', 0],
  ['0', 0],
])('the duration %s is %i ms', (given, expected) => expect(durationMs(given)).toBe(expected));

test.each(['', '10', '00', '1d', 's', '10s ', '1.5h', '-1s', '1e3s', 'NaN', '1 s'])(
  'the duration %j is refused',
  (given) => expect(() => durationMs(given)).toThrow(/give a duration/),
);

test.each(['24h1ms', '1441m', '9999999999h'])(
  'the duration %s is refused: a timer beyond 24 days would end at once',
  (given) => expect(() => durationMs(given)).toThrow('give a duration of at most 24h'),
);
test('a duration may be a whole day', () => expect(durationMs('24h')).toBe(86_400_000));

test.each(['0', '7', '10', '010'])('%j is a whole number from 0 to 10', (given) =>
  expect(wholeNumber({ least: 0, most: 10 })(given)).toBe(Number(given)),
);
test.each(['', ' ', ' 1', '1 ', '-1', '11', '1e0', '0x1', '1.0', 'NaN', '9'.repeat(16)])(
  '%j is no whole number from 0 to 10',
  (given) =>
    expect(() => wholeNumber({ least: 0, most: 10 })(given)).toThrow(
      'give a whole number from 0 to 10',
    ),
);
test('both ends of a range belong to it', () => {
  const read = wholeNumber({ least: 2, most: 3 });
  expect([read('2'), read('3')]).toEqual([2, 3]);
  for (const beyond of ['1', '4']) expect(() => read(beyond)).toThrow('from 2 to 3');
});

test.each(['/etc/nats/creds', 'a path/with spaces', 'ü'])('%j is a text', (given) =>
  expect(text(given)).toBe(given),
);
test.each([' ', 'a ', '\ta', 'a\nb', 'a\u0000b'])('%j is no text of a setting', (given) =>
  expect(() => text(given)).toThrow('give it without spaces around it'),
);

test('choices and booleans take only what they name', () => {
  expect(oneOf('a', 'b')('b')).toBe('b');
  expect(() => oneOf('a', 'b')('c')).toThrow('give one of a, b');
  expect(yesOrNo('true')).toBe(true);
  expect(() => yesOrNo('1')).toThrow('give one of true, false');
});

test.each([
  ['0', 0],
  ['0.02', 0.02],
  ['12.123456', 12.123456],
])('%s is %f dollars', (given, expected) => expect(dollars(given)).toBe(expected));
test.each(['', '-1', '1e3', '0.1234567', '$1'])('%j is not an amount of dollars', (given) =>
  expect(() => dollars(given)).toThrow('give US dollars with at most six decimals, such as 0.02'),
);
