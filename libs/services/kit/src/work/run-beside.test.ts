import { type Service, Stopper } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { runBeside } from './run-beside.js';

const bug = new Error('a bug');
test.each<[string, Service['run'], Error | undefined]>([
  ['returns', () => Promise.resolve(), undefined],
  ['fails', () => Promise.reject(bug), bug],
])('a loop beside a service ends when the service %s', async (_how, run, failure) => {
  const service = { run, ready: () => ({ all: true }), debugState: () => ({ left: 1 }) };
  const outer = new Stopper();
  let hasEnded = false;
  const both = runBeside(service, async (stop) => {
    await new Promise<void>((resolve) =>
      stop.addEventListener('abort', () => resolve(), { once: true }),
    );
    hasEnded = true;
  });
  expect([both.ready(), both.debugState()]).toEqual([{ all: true }, { left: 1 }]);
  const running = both.run(outer);
  await (failure === undefined ? running : expect(running).rejects.toBe(failure));
  expect(hasEnded).toBe(true);
  expect(outer.aborted).toBe(false);
});
