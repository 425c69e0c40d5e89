import { expect, test } from 'vitest';

import { createLog } from './log.js';

function lineOf(message: string, fields: Readonly<Record<string, unknown>>): unknown {
  let written = '';
  const to = { write: (text: string) => void (written += text) };
  createLog({ service: 'solver', level: 'info', to }).info('it-happened', message, fields);
  expect(written.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(written);
}

test('a line is JSON with the name, the sentence and the fields', () =>
  expect(lineOf('it happened', { pods: 3 })).toMatchObject({
    level: 'info',
    service: 'solver',
    event: 'it-happened',
    msg: 'it happened',
    pods: 3,
  }));

test('text of others neither steers a terminal nor fills a disk', () => {
  const line = lineOf(`claim \u009b2J${'x'.repeat(1_400_000)}`, { claim: 'y'.repeat(1_400_000) });
  expect(line).toMatchObject({ msg: expect.stringMatching(/^claim \\u009b2Jx+…$/) });
  expect(JSON.stringify(line).length).toBeLessThan(20_000);
});
