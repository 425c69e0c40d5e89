import { Cluster } from '@dovetail/core-cluster';
import { noVitals, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { VoidClaims, type VoidClaimsDeps } from './void-claims.js';

const quiet = (): void => undefined;

test('an epoch that has ended listens to no claim any more', async () => {
  const cluster = new Cluster();
  let listening = 0;
  const subscribe = cluster.subscribe.bind(cluster);
  cluster.subscribe = (listener) => {
    listening += 1;
    const end = subscribe(listener);
    return () => {
      listening -= 1;
      end();
    };
  };
  const stop = new Stopper();
  const deps: VoidClaimsDeps = {
    clock: virtualClock(0),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    metrics: { count: quiet, observe: quiet, set: quiet },
    vitals: noVitals,
    cluster,
    writer: { deleteClaim: () => Promise.resolve() } as unknown as VoidClaimsDeps['writer'],
    epoch: { number: 1, inherited: new Set() },
  };
  const ended = new VoidClaims(deps).run(stop);
  expect(listening).toBe(1);
  stop.abort();
  await ended;
  expect(listening).toBe(0);
});
