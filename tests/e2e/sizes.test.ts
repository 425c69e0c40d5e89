import { instances, ourNodes, untilRunning } from '@dovetail/test-support/cluster';
import { createTogether, podObject, poolReady } from '@dovetail/test-support/placement';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** At the least price thirteen nodes of the smallest burstable type would hold them. */
const podsWithoutRequests = 50;

describe.each(await worlds())('pods without requests on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world });
    await at.kube.putManifests(
      poolManifest({ clusterName: 'lab' }).replace('[c, m, r]', '[t, c, m, r]'),
    );
    await poolReady(at);
  });
  afterAll(async () => at?.close());

  test('land on at most two nodes, and the plan says what they count as', async () => {
    await createTogether(
      at,
      Array.from({ length: podsWithoutRequests }, (_, index) => podObject(`app-${index}`, {})),
    );
    await untilRunning(at, 'default', podsWithoutRequests);
    expect((await ourNodes(at)).length).toBeLessThanOrEqual(2);
    expect((await instances(at)).length).toBeLessThanOrEqual(2);
    const plan = await eventually('the plan as a decision', () => at.decisions.of('plan')[0]);
    expect(plan.facts).toMatchObject({
      nodeChargeMicrosPerHour: '5000',
      assumedRequests: 'cpu=25m,memory=250Mi',
    });
  });
});
