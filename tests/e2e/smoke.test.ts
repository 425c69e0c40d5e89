import { watchAvailable, type Watched } from '@dovetail/test-support/availability';
import { latestNodes } from '@dovetail/test-support/binding';
import { claims, instances, ourNodes, untilRunning } from '@dovetail/test-support/cluster';
import { strike } from '@dovetail/test-support/faults';
import { boundTo, poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import {
  eventually,
  openWorld,
  quickLeaseMs,
  type TestWorld,
  worlds,
} from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * The life of a node in one file. It is launched for pods that are bound as planned, even if the
 * leader is killed in between, and drained as a budget allows. The gate plays this on the real
 * control plane.
 */

/** One pod of it may be missing at a time. Two of its pods fill a c5.large. */
const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: load, namespace: default }
spec: { maxUnavailable: 1, selector: { matchLabels: { app: load } } }
`;

describe.each(await worlds())('the life of a node, on the %s world', (world) => {
  let at: TestWorld;
  let available: (Watched & { fewest(): number }) | undefined;
  beforeAll(async () => {
    at = await openWorld({ world, leaseMs: quickLeaseMs });
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes: ['c5.large'] }));
    await poolReady(at);
  });
  afterAll(async () => {
    await available?.close();
    await at?.close();
  });

  test('pods become nodes that they are bound to as planned', async () => {
    await at.kube.putManifests(
      deploymentManifest({ name: 'load', cpu: '700m', memory: '100Mi', replicas: 4 }),
    );
    await untilRunning(at, 'default', 4);
    expect(await boundTo(at)).toEqual(await latestNodes(at));
    expect(await ourNodes(at)).toHaveLength(2);
  });

  test('a scale-up whose leading launcher is killed is finished by the next one, with no instance twice', async () => {
    await at.kubectl('scale', 'deployment/load', '--replicas=8');
    await eventually('new claims', async () => (await claims(at)).length > 2);
    await strike(at, 'kill launcher');
    await untilRunning(at, 'default', 8);
    expect([await claims(at), await instances(at)].map(({ length }) => length)).toEqual([4, 4]);
  });

  test('a node that is deleted drains as its budget allows, and its pods get another one', async () => {
    await at.kube.putManifests(budget);
    available = await watchAvailable(at, 'app=load');
    const [old] = await ourNodes(at);
    await at.kubectl('delete', `node/${old?.metadata.name ?? ''}`, '--timeout=120s');
    await untilRunning(at, 'default', 8);
    expect(available.fewest()).toBe(7);
    // A Node goes before its NodeClaim does.
    await eventually('four claims', async () => (await claims(at)).length === 4);
  });
});
