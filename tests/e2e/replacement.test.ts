import { kubeResources } from '@dovetail/core-ports';
import { claims, instances, ourNodes, pods, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Both pods fit on one c5.xlarge and on no c5.large; the small one alone fits on a c5.large. */
const small = { name: 'small', cpu: '700m', memory: '100Mi', replicas: 1 } as const;
const large = { name: 'large', cpu: '2200m', memory: '100Mi', replicas: 1 } as const;
const typeLabel = 'node.kubernetes.io/instance-type';

describe.each(await worlds())('consolidation by replacement, on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, env: { reaper: { CONSOLIDATION: 'replace' } } });
    const pool = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '5s' };
    const instanceTypes = ['c5.large', 'c5.xlarge'];
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes, ...pool }));
    await poolReady(at);
    // The large pod's node has room for the small one. In one batch or two, there is one node: a
    // node of the small pod's own would be given up, and its pod left alone for half an hour.
    await at.kube.putManifests(deploymentManifest(large));
    await untilRunning(at, 'default', 1);
    await at.kube.putManifests(deploymentManifest(small));
    await untilRunning(at, 'default', 2);
  });
  afterAll(async () => at?.close());

  const typesNow = async (): Promise<readonly string[]> =>
    (await ourNodes(at)).map(({ metadata }) => metadata.labels?.[typeLabel] ?? '').sort();

  test('a node whose pods need no smaller one stays', async () => {
    expect(await typesNow()).toEqual(['c5.xlarge']);
    await eventually('an Event that says so', async () =>
      (await at.list(kubeResources.events)).some(({ reason }) => reason === 'Unconsolidatable'),
    );
    expect(await typesNow()).toEqual(['c5.xlarge']);
  });

  test('a node that is too dear for its last pod is replaced by a cheaper one', async () => {
    await at.kubectl('scale', 'deployment/large', '--replicas=0');
    await eventually(
      'one c5.large',
      async () => (await typesNow()).join() === 'c5.large' && (await claims(at)).length === 1,
      180_000,
    );
    await untilRunning(at, 'default', 1);
    const [left] = await ourNodes(at);
    expect((await pods(at, 'default')).map(({ spec }) => spec.nodeName)).toEqual([
      left?.metadata.name,
    ]);
    expect((await instances(at)).filter(({ state }) => state === 'running')).toHaveLength(1);
    expect(JSON.stringify(left?.['spec'])).not.toContain('karpenter.sh/disrupted');
  });
});
