import { annotations, renderPromise } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { conditionOf } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import {
  alive,
  claims,
  minute,
  nodeClaims,
  open,
  pending,
  pods,
  ready,
  reasonsOf,
  running,
  self,
} from './testing/faults.js';
import { kubeWith } from './testing/launcher-stage.js';

describe('capacity', () => {
  test('a type without capacity is passed over by the fleet, and avoided for three minutes', async () => {
    await ready();
    self.twin.setCapacity({ instanceType: 'c5a.large', free: 0 });
    await pending('a');
    await self.planner.planFor(['a']);
    await self.until('a running pod', () => running(1));
    expect(alive().map((instance) => instance.instanceType)).not.toContain('c5a.large');
    const state = self.launchers()[0]?.debugState() as {
      thisEpoch: { avoided: readonly { instanceType: string; untilMs: number }[] };
    };
    const avoided = state.thisEpoch.avoided.filter((each) => each.instanceType === 'c5a.large');
    expect(avoided.length).toBeGreaterThan(0);
    expect(avoided[0]?.untilMs).toBeGreaterThan(self.clock.nowMs() + 2 * minute);
  });

  test('with nothing to be had the claim ends, the pod hears of capacity, and runs when there is some again', async () => {
    await ready();
    self.twin.setCapacity({ free: 0 });
    await pending('a');
    self.planner.planAlways();
    await self.until('an Event that names capacity', async () =>
      (await reasonsOf('Pod')).some(
        (text) => text.startsWith('FailedScheduling') && text.includes('capacity'),
      ),
    );
    await self.until('the claim to end', async () => (await claims()).length === 0);
    const given = { reason: 'insufficient_capacity', termination_mode: 'graceful' };
    expect(self.metrics.value('karpenter_nodeclaims_disrupted_total', given)).toBeGreaterThan(0);
    const failed = self.metrics.samples
      .filter(({ metric }) => metric.endsWith('_instance_launch_failures_total'))
      .map(({ labels }) => labels);
    expect(failed.map((of) => of['zone_id'])).toEqual(failed.map(() => expect.stringMatching(/./)));
    self.twin.setCapacity({ free: 'unlimited' });
    await self.advance(25 * minute);
    await self.until('a running pod', () => running(1));
    expect(alive()).toHaveLength(1);
  });

  test('throttled calls are paced and come through, with one instance for each claim', async () => {
    await ready();
    self.twin.gate.fail({ action: 'ec2:CreateFleet', code: 'RequestLimitExceeded', times: 3 });
    await pending('a');
    await self.planner.planFor(['a']);
    await self.until('a running pod', () => running(1));
    expect(alive()).toHaveLength(1);
  });

  test('a fleet whose answer was lost is sent again and bought once', async () => {
    await ready();
    self.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'InternalError',
      times: 2,
      when: 'after',
    });
    await pending('a');
    await self.planner.planFor(['a']);
    await self.until('a running pod', () => running(1));
    expect(self.twin.instances.all()).toHaveLength(1);
  });

  test('a launch template that somebody deleted is made again', async () => {
    await ready();
    self.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'InvalidLaunchTemplateName.NotFoundException',
      times: 1,
    });
    await pending('a');
    await self.planner.planFor(['a']);
    await self.until('a running pod', () => running(1));
    expect(alive()).toHaveLength(1);
  });

  test("an error that is not about capacity stands in the claim's condition, and the next attempt is another intent", async () => {
    await ready();
    self.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'UnauthorizedOperation',
      message: 'not allowed',
      times: 2,
    });
    await pending('a');
    await self.planner.planFor(['a']);
    await self.until('a condition that says so', async () =>
      (await claims()).some(
        (claim) => conditionOf(claim.conditions, 'Launched')?.reason === 'Unauthorized',
      ),
    );
    await self.until('a running pod', () => running(1));
    expect(alive()).toHaveLength(1);
  });
});

describe('claims that get nowhere', () => {
  test('a node that never joins ends its claim after 15 minutes, and its instance is left to the reaper', async () => {
    await ready({ cloud: { bootDelayMs: 3_600_000 } });
    await pending('a');
    await self.planner.planFor(['a']);
    const [claim] = await self.until('a launched claim', async () => {
      const all = await claims();
      return all.length === 1 && all[0]?.providerId !== undefined && all;
    });
    await self.advance(15 * minute + 1_000);
    await self.until(
      'the claim to be given up',
      async () => (await claims())[0]?.deletionMs !== undefined,
    );
    expect((await claims())[0]?.finalizers).toContain('karpenter.sh/termination');
    expect(instanceIdOf(claim as never)).toBe(alive()[0]?.id);
  });

  test('a claim that cannot be launched is given up after 5 minutes, with an Event that says why; nothing is bought', async () => {
    await ready();
    self.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'UnauthorizedOperation',
      message: 'not allowed',
      times: 1_000,
    });
    await pending('a');
    await self.planner.planFor(['a']);
    const [claim] = await self.until(
      'a claim that says why',
      async () =>
        (await claims()).some(
          (each) => conditionOf(each.conditions, 'Launched')?.reason === 'Unauthorized',
        ) && claims(),
    );
    await self.advance(4 * minute);
    expect((await claims()).map(({ name }) => name)).toEqual([claim?.name]);
    await self.advance(minute + 1_000);
    await self.until(
      'the claim to go',
      async () => !(await claims()).some(({ uid }) => uid === claim?.uid),
    );
    const said = await self.until('an Event', async () =>
      (await self.kube.list(kubeResources.events)).find(
        (event) => event['reason'] === 'LaunchTimeout',
      ),
    );
    expect(said['message']).toMatch(
      new RegExp(`^${claim?.name ?? ''} made no progress in 300 s .*not allowed`),
    );
    expect(self.twin.instances.all()).toEqual([]);
    const counted = { consolidation_policy: '', termination_mode: 'graceful' };
    const given = { reason: 'launch_timeout', ...counted };
    expect(self.metrics.value('karpenter_nodeclaims_disrupted_total', given)).toBe(1);
  });

  test('a claim deleted before it had an instance goes at once, and nothing is bought for it', async () => {
    await ready();
    self.twin.gate.setLatency('ec2:CreateFleet', 50);
    self.twin.gate.fail({ action: 'ec2:CreateFleet', code: 'UnauthorizedOperation', times: 1_000 });
    await pending('a');
    await self.planner.planFor(['a']);
    const [claim] = await self.until('a claim', async () => {
      const all = await claims();
      return all.length === 1 && all;
    });
    await self.kube.delete({ resource: nodeClaims, name: claim?.name ?? '' });
    await self.until('the claim to go', async () => (await claims()).length === 0);
    expect(self.twin.instances.all()).toEqual([]);
  });
});

describe('two leaders', () => {
  test('a paused leader that wakes fails at the fence: nothing of its round comes to be', async () => {
    await open({ leaseMs: 300 });
    await self.readyPool();
    let paused: (() => void) | undefined;
    const gate: { wait: Promise<void> | undefined } = { wait: undefined };
    const slow = kubeWith(self.kube, {
      replace: async (resource, object, options) => {
        if (resource.plural === 'leases') await gate.wait;
        return self.kube.replace(resource, object, options);
      },
    });
    self.launcher('old', { ports: { ...self.ports(), kube: slow } });
    await self.planningPossible();
    await pending('a');
    gate.wait = new Promise<void>((resolve) => {
      paused = resolve;
    });
    await self.planner.planFor(['a']);
    const before = (await self.head())?.epoch ?? 0;
    self.launcher('new');
    await self.until(
      'the other to lead',
      async () => ((await self.head())?.epoch ?? 0) > before,
      10_000,
    );
    paused?.();
    self.planner.planAlways();
    await self.until('a running pod', () => running(1), 10_000);
    const epochs = (await claims()).map((claim) =>
      Number(claim.annotations[annotations.admission]?.split('.')[0]),
    );
    expect(epochs).toEqual([(await self.head())?.epoch]);
    expect(self.twin.instances.all()).toHaveLength(1);
  });

  const byHand = async (
    name: string,
    change: { readonly admission: string; readonly podUids: readonly string[] },
  ): Promise<KubeObject> =>
    self.kube.create(nodeClaims, {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: {
        name,
        labels: { 'karpenter.sh/nodepool': 'general' },
        finalizers: ['karpenter.sh/termination'],
        annotations: {
          [annotations.admission]: `${change.admission}/plan/bin-0`,
          [annotations.promise]: renderPromise({
            podUids: change.podUids,
            admission: change.admission,
          }),
        },
      },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['c5.large'] },
        ],
        resources: {},
      },
    });

  test('a claim that a deposed leader makes after the take-over is deleted and never launched', async () => {
    await ready();
    await pending('a');
    await byHand('late', { admission: '1.7', podUids: [] });
    await self.until('the late claim to go', async () => (await claims()).length === 0);
    expect(self.twin.instances.all()).toEqual([]);
  });

  test('of two claims that name one pod the later yields', async () => {
    await open();
    await self.readyPool();
    await self.kube.create(pods, podObject('a'));
    const [pod] = await self.kube.list(pods);
    const uid = pod?.metadata.uid ?? '';
    await byHand('first', { admission: '1.7', podUids: [uid] });
    await byHand('second', { admission: '1.8', podUids: [uid] });
    self.launcher('one');
    await self.until('the first to run the pod', () => running(1));
    expect((await claims()).map((claim) => claim.name)).toEqual(['first']);
    expect(self.twin.instances.all()).toHaveLength(1);
  });
});
