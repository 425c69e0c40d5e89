import { annotations, type NodeClaim, terminationFinalizer } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { expect, test } from 'vitest';

import type { LaunchedInstance } from '../launch/pairing.js';
import { Finalization, type FinalizationDeps } from './finalization.js';

const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const intent = { [annotations.launchIntent]: 'intent-1 {}' };
const instance = (id: string): LaunchedInstance => ({
  ...{ id, instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'spot' as const },
});
const paired = { ...intent, [annotations.instanceId]: 'i-00000000000000001' };
const deleted = (held: Readonly<Record<string, string>>): NodeClaim =>
  claimValue('deleted', { annotations: held, deletionMs: 1, finalizers: [terminationFinalizer] });
const without = { metadata: { finalizers: [] } };
const with2 = { metadata: { annotations: { [annotations.instanceId]: 'i-00000000000000002' } } };

test.each([
  ['takes no instance of a claim that lives, and is let go', ['1'], intent, without],
  ['takes the instance that no other claim has', ['1', '2'], intent, with2],
  ['that got an instance meanwhile is not let go', ['1'], paired, undefined],
  ['that got an instance meanwhile takes no second one', ['1', '2'], paired, undefined],
])('a deleted claim %s', async (_what, ids, heldByNow, change) => {
  const cluster = new Cluster();
  const claim = deleted(intent);
  cluster.set('claim', claim);
  cluster.set('claim', claimValue('lives', { annotations: paired }));
  const changes: unknown[] = [];
  const changeClaim = (_claim: NodeClaim, changed: (now: NodeClaim) => unknown) =>
    Promise.resolve(void changes.push(changed(deleted(heldByNow))));
  const finalization = new Finalization({
    ...{ log, cluster, isSettled: () => true },
    lookUp: () => Promise.resolve(ids.map((id) => instance(`i-0000000000000000${id}`))),
    writer: { changeClaim } as unknown as FinalizationDeps['writer'],
  });
  await finalization.finalize(claim);
  expect(changes).toEqual([change]);
});
