import { expect, test } from 'vitest';

import { Failures } from './failures.js';

test('failures of one batch are counted until it is done with', () => {
  const failures = new Failures();
  const place = { subject: 's', sequence: 1 };
  expect([failures.add(place), failures.add(place)]).toEqual([1, 2]);
  failures.clear(place);
  expect(failures.add(place)).toBe(1);
});

test('a newer batch of the group begins anew, and other groups count for themselves', () => {
  const failures = new Failures();
  failures.add({ subject: 's', sequence: 1 });
  expect(failures.add({ subject: 's', sequence: 2 })).toBe(1);
  expect(failures.add({ subject: 't', sequence: 2 })).toBe(1);
  expect(failures.add({ subject: 's', sequence: 2 })).toBe(2);
});
