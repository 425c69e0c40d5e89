import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { noVitals, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { listenersOf } from '../testing/listeners.js';
import { VoidClaims, type VoidClaimsDeps } from './void-claims.js';

const quiet = (): void => undefined;
const depsOf = (cluster: Cluster, epoch: number): VoidClaimsDeps => ({
  clock: virtualClock(0),
  log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  metrics: { count: quiet, observe: quiet, set: quiet, remove: quiet },
  vitals: noVitals,
  cluster,
  writer: { deleteClaim: () => Promise.resolve() } as unknown as VoidClaimsDeps['writer'],
  epoch: { number: epoch, inherited: new Set() },
});

test('an epoch that has ended listens to no claim any more', async () => {
  const cluster = new Cluster();
  const listening = listenersOf(cluster);
  const stop = new Stopper();
  const ended = new VoidClaims(depsOf(cluster, 1)).run(stop);
  expect(listening()).toBe(1);
  stop.abort();
  await ended;
  expect(listening()).toBe(0);
});

test('a claim that has got its instance since it was read is not void', () => {
  const cluster = new Cluster();
  const ofDeposed = { 'dovetail.sh/admission': '1.1/plan/bin-0' };
  const asRead = claimValue('c1', { annotations: ofDeposed });
  const paired = { ...ofDeposed, 'dovetail.sh/instance-id': 'i-0123456789abcdef0' };
  const claims = new VoidClaims(depsOf(cluster, 2));
  cluster.set('claim', asRead);
  expect(claims.isVoid(asRead)).toBe(true);
  cluster.set('claim', claimValue('c1', { annotations: paired, resourceVersion: '2' }));
  expect(claims.isVoid(asRead)).toBe(false);
});
