import { expect, test } from 'vitest';

import { TestbedError, waitFor } from '../index.js';

test('returns what the condition gives, looking again on undefined, false and throws', async () => {
  const answers = [
    () => undefined,
    () => false as const,
    () => {
      throw new Error('not yet');
    },
    () => 7,
  ];
  expect(
    await waitFor(() => answers.shift()?.(), { what: 'a number', deadlineMs: 2_000, everyMs: 1 }),
  ).toBe(7);
});

test('too late: the error names what was awaited, for how long, and the last failure', async () => {
  const never = waitFor(
    () => {
      throw new Error('connection refused');
    },
    { what: 'the server', deadlineMs: 30, everyMs: 5 },
  );
  await expect(never).rejects.toThrow(
    /waited 30 ms in vain for the server[^]*connection refused[^]*Remedy:/,
  );
});

test('a condition that hangs does not outlive the deadline', async () => {
  const hanging = waitFor(() => new Promise<boolean>(() => undefined), {
    what: 'nothing',
    deadlineMs: 20,
  });
  await expect(hanging).rejects.toThrow(/waited 20 ms/);
});

test('a TestbedError ends the wait at once', async () => {
  const gone = new TestbedError({ failed: 'the process ended', remedy: 'start it' });
  await expect(
    waitFor(
      () => {
        throw gone;
      },
      { what: 'it', deadlineMs: 60_000 },
    ),
  ).rejects.toBe(gone);
});
