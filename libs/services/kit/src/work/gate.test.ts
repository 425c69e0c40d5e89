import { expect, test } from 'vitest';

import { Gate } from './gate.js';

test('a gate lets in as many as its limit, the others in order, and none is kept out by a failure', async () => {
  const gate = new Gate(2);
  const begun: number[] = [];
  const ends = new Map<number, (failure?: Error) => void>();
  const works = [1, 2, 3, 4].map((number) =>
    gate
      .pass(
        () =>
          new Promise<void>((resolve, reject) => {
            begun.push(number);
            ends.set(number, (failure) => (failure === undefined ? resolve() : reject(failure)));
          }),
      )
      .catch((error: unknown) => String(error)),
  );
  expect(begun).toEqual([1, 2]);
  ends.get(2)?.(new Error('no'));
  expect(await works[1]).toBe('Error: no');
  expect(begun).toEqual([1, 2, 3]);
  ends.get(1)?.();
  await works[0];
  expect(begun).toEqual([1, 2, 3, 4]);
  for (const number of [3, 4]) ends.get(number)?.();
  await Promise.all(works);
});
