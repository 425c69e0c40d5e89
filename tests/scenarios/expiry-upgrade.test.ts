import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAwsCloud } from '@dovetail/adapter-aws';
import { systemClock } from '@dovetail/runtime';
import { instances, nodes, ourNodes, runningPods, untilNothingLeft, untilRunning } from '../support/cluster.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';

describe.each(await worlds())('scenario expiry-upgrade on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, region: 'us-west-2', zones: ['us-west-2a', 'us-west-2b', 'us-west-2d'], kubernetesVersion: '1.33' });
    await at.applyScenario('expiry-upgrade');
    await untilRunning(at, 'default', 3);
  });
  afterAll(async () => at?.close());

  test('at 1800 s of age the node is replaced by one of the new version, and never fewer than two of the three pods are available', async () => {
    const [old] = await instances(at);
    expect(old?.kubernetesVersion).toBe('1.33');
    await at.cloud('POST', 'cluster', { version: '1.34' });
    const watching = new AbortController();
    const fewest = watchFewest(at, watching.signal);
    await at.lab.advanceClock(1_801_000);
    await eventually('a node of the new version with all pods, and the old one gone', async () => {
      const live = await instances(at);
      return live.length === 1 && live[0]?.instanceId !== old?.instanceId && live[0]?.kubernetesVersion === '1.34' && (await runningPods(at, 'default')).length === 3;
    }, 180_000);
    watching.abort();
    expect(await fewest).toBeGreaterThanOrEqual(2);
    const left = await eventually('one node to be left', async () => {
      const all = await nodes(at);
      return all.length === 1 ? all : undefined;
    });
    expect(left[0]?.status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.34/);
    expect(at.decisions.of('disrupt').some((decision) => /expired/i.test(JSON.stringify(decision)))).toBe(true);
  });

  test('deleting the Provisioner deletes its nodes, gracefully, and leaves no instance, launch template or finalizer', async () => {
    await at.kubectl('delete', 'pdb', 'inflate-pdb');
    await at.kubectl('delete', 'provisioner', 'default', '--wait=false');
    await untilNothingLeft(at, 120_000);
    expect(await ourNodes(at)).toEqual([]);
    await eventually('the Provisioner to be gone', async () => (await at.kubectl('get', 'provisioners')).trim() === '');
    await at.lab.advanceClock(700_000);
    const aws = createAwsCloud({ region: 'us-west-2', endpoint: at.lab.cloudUrl, credentials: { accessKeyId: 'test', secretAccessKey: 'test' }, clock: systemClock });
    await eventually('no launch template', async () => (await aws.launchTemplates({ key: 'eks:eks-cluster-name', value: 'lab' })).length === 0, 60_000);
    aws.close();
  });
});

/** The fewest pods that ran at once until told to stop. */
async function watchFewest(at: TestWorld, stop: AbortSignal): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  while (!stop.aborted) {
    fewest = Math.min(fewest, (await runningPods(at, 'default')).length);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return fewest;
}
