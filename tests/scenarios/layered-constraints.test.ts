import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { instances, labelOf, ourNodes, pods, untilNothingLeft, untilRunning } from '../support/cluster.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';

const cases = [
  ['r6gd.xlarge', 'workload-r6gd.xlarge.yaml'],
  ['t4g.2xlarge', 'workload-t4g.2xlarge.yaml'],
] as const;

describe.each(await worlds())('scenario layered-constraints on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, region: 'us-west-2', zones: ['us-west-2a', 'us-west-2b', 'us-west-2d'] });
    await at.applyScenario('layered-constraints', ['provisioner.yaml']);
  });
  afterAll(async () => at?.close());

  test.each(cases)('one %s, on-demand, arm64, in us-west-2a holds all three pods and ends when they are gone', async (instanceType, workload) => {
    await at.applyScenario('layered-constraints', [workload]);
    const running = await untilRunning(at, 'default', 3);
    const [node, ...others] = await ourNodes(at);
    expect(others).toEqual([]);
    expect(new Set(running.map((pod) => pod.spec.nodeName))).toEqual(new Set([node?.metadata.name]));
    expect(node?.metadata.labels).toMatchObject({
      'node.kubernetes.io/instance-type': instanceType, 'karpenter.sh/capacity-type': 'on-demand',
      'topology.kubernetes.io/zone': 'us-west-2a', 'kubernetes.io/arch': 'arm64', 'karpenter.sh/provisioner-name': 'default',
    });
    const [instance] = await instances(at);
    expect(instance).toMatchObject({ instanceType, zone: 'us-west-2a', capacityType: 'on-demand' });
    const launch = await eventually('the launch as a decision', () => at.decisions.of('launch').find((decision) => decision.instanceId === instance?.instanceId));
    expect(launch).toMatchObject({ instanceType, zone: 'us-west-2a', capacityType: 'on-demand' });

    await at.kubectl('scale', 'deployment/inflate', '--replicas=0');
    await eventually('no pods', async () => (await pods(at, 'default')).length === 0);
    await at.lab.advanceClock(15_000);
    expect((await ourNodes(at)).length).toBe(1);
    await at.lab.advanceClock(16_000);
    await untilNothingLeft(at);
    expect(at.decisions.of('terminate').some((decision) => decision.instanceId === instance?.instanceId)).toBe(true);
  });

  test('new pods within the 30 seconds stop the countdown', async () => {
    await at.kubectl('scale', 'deployment/inflate', '--replicas=1');
    await untilRunning(at, 'default', 1);
    const [node] = await ourNodes(at);
    await at.kubectl('scale', 'deployment/inflate', '--replicas=0');
    await eventually('no pods', async () => (await pods(at, 'default')).length === 0);
    await at.lab.advanceClock(20_000);
    await at.kubectl('scale', 'deployment/inflate', '--replicas=2');
    const running = await untilRunning(at, 'default', 2);
    await at.lab.advanceClock(20_000);
    expect(new Set(running.map((pod) => pod.spec.nodeName))).toEqual(new Set([node?.metadata.name]));
    expect((await ourNodes(at)).map((each) => labelOf(each, 'kubernetes.io/hostname'))).toHaveLength(1);
    await at.kubectl('delete', 'provisioner', 'default', '--wait=false');
    await untilNothingLeft(at);
  });
});
