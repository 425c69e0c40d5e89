import { KubeError, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { createPatiently } from './patient-create.js';

const quiet = (): void => undefined;
const deps = {
  clock: virtualClock(0),
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  metrics: { count: quiet, observe: quiet, set: quiet, remove: quiet },
};

test('a launcher that ends tries no claim again that the API server has no time for', async () => {
  const stop = new Stopper();
  let tries = 0;
  const create = (): Promise<never> => {
    tries += 1;
    stop.abort();
    return Promise.reject(new KubeError('too-many-requests', 'busy'));
  };
  const made = createPatiently(deps, 'c1', create, stop);
  await expect(made).rejects.toMatchObject({ code: 'too-many-requests' });
  expect(tries).toBe(1);
});
