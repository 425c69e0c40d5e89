import { expect, test } from 'vitest';

import { confirmed } from './confirmed.js';

test.each([
  ['whole', [['a', 'b']], ['a', 'b'], 1],
  ['cut once', [['a'], ['a', 'b']], ['a', 'b'], 2],
  ['empty once', [[], ['a', 'b', 'c']], ['a', 'b', 'c'], 2],
  ['cut twice: it is believed', [['a'], ['a']], ['a'], 2],
])('an answer that is %s', async (_how, answers, believed, calls) => {
  let asked = 0;
  const found = await confirmed(
    () => Promise.resolve(answers[asked++] ?? []),
    (answer) => ['a', 'b'].some((known) => !answer.includes(known)),
  );
  expect([found, asked]).toEqual([believed, calls]);
});
