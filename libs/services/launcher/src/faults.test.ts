import { annotations, parsePromise, renderPromise } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { conditionOf, conditionsIn } from '@dovetail/service-kit';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, jest, test } from '@jest/globals';

import { claimFrom } from './cluster/readings.js';
import {
  kubeWith,
  type LauncherStage,
  launcherStage,
  type LauncherStageOptions,
} from './testing/launcher-stage.js';

// Time is virtual, but a machine that does much else needs seconds for a virtual hour.
jest.setTimeout(60_000);
let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodes, nodeClaims, events, nodePools, ec2NodeClasses } = kubeResources;
const minute = 60_000;

const running = async (count: number): Promise<boolean> =>
  (await self.kube.list(pods)).filter(
    (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
  ).length === count;
const claims = async () => (await self.kube.list(nodeClaims)).map(claimFrom);
const alive = () =>
  self.twin.instances
    .all()
    .filter((instance) => instance.state === 'pending' || instance.state === 'running');
const reasonsOf = async (kind: string): Promise<readonly string[]> =>
  (await self.kube.list(events))
    .filter((event) => (event['involvedObject'] as { kind?: string }).kind === kind)
    .map((event) => `${String(event['reason'])}: ${String(event['message'])}`);

async function ready(options: LauncherStageOptions = {}): Promise<void> {
  self = await launcherStage(options);
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
}

async function pending(...names: readonly string[]): Promise<void> {
  for (const name of names) await self.kube.create(pods, podObject(name));
  await self.until("the pods in the solver's view", () =>
    names.every((name) => [...self.planner.cluster.pods.values()].some((pod) => pod.name === name)),
  );
}

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
    self = await launcherStage({ leaseMs: 300 });
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
    self = await launcherStage();
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

describe('room on nodes that exist', () => {
  async function withNode(): Promise<KubeObject> {
    await ready();
    await self.kube.create(pods, podObject('first', { cpu: '1500m' }));
    await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['first']);
    await self.until('a running pod', () => running(1));
    return self.until('an initialised node', async () =>
      (await self.kube.list(nodes)).find(
        (node) => node.metadata.labels?.['karpenter.sh/initialized'] === 'true',
      ),
    );
  }

  test('is promised on the node, and the promise is told', async () => {
    const node = await withNode();
    await self.kube.create(pods, podObject('second', { cpu: '100m', memory: '100Mi' }));
    await self.until(
      'the pod in view',
      () =>
        [...self.planner.cluster.nodes.values()].some(
          (each) => each.labels['karpenter.sh/initialized'] === 'true',
        ) && self.planner.cluster.pods.size === 2,
    );
    const planned = await self.planner.planFor(['second']);
    expect(planned.plan.placements).toHaveLength(1);
    const promise = await self.until('a promise on the node', async () =>
      parsePromise(
        (await self.kube.get({ resource: nodes, name: node.metadata.name }))?.metadata
          .annotations?.[annotations.promise],
      ),
    );
    expect(promise.podUids).toEqual(planned.plan.placements[0]?.podUids);
    expect(promise.untilMs).toBeGreaterThan(self.clock.nowMs());
  });

  test('is not promised on a node whose retirement began meanwhile: the promise is taken back', async () => {
    const node = await withNode();
    await self.kube.create(pods, podObject('second', { cpu: '100m', memory: '100Mi' }));
    await self.until(
      'the pod in view',
      () =>
        [...self.planner.cluster.nodes.values()].some(
          (each) => each.labels['karpenter.sh/initialized'] === 'true',
        ) && self.planner.cluster.pods.size === 2,
    );
    // The taint comes between the launcher's judgement and its promise: just before its write
    // reaches the API server.
    const tainted = self.beforePatch('nodes', async () => {
      await self.kube.patch(
        { resource: nodes, name: node.metadata.name },
        {
          type: 'merge',
          body: { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } },
        },
      );
    });
    await self.planner.planFor(['second']);
    await tainted();
    await self.until('the refusal', () =>
      self.log.lines.some(
        (line) => line.includes('decision-refuse') && line.includes('node-retiring'),
      ),
    );
    expect(
      (await self.kube.get({ resource: nodes, name: node.metadata.name }))?.metadata.annotations?.[
        annotations.promise
      ],
    ).toBeUndefined();
  });
});

describe('bad input', () => {
  test('a pool whose class does not exist is not ready and says what would help', async () => {
    self = await launcherStage();
    await self.kube.create(nodePools, nodePoolObject());
    self.launcher('one');
    const condition = await self.until('its condition', async () =>
      conditionOf(
        conditionsIn((await self.kube.list(nodePools))[0] as KubeObject),
        'NodeClassReady',
      ),
    );
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'NodeClassNotFound',
      message: expect.stringContaining('create it'),
    });
  });

  test('a selector that finds nothing is named in the class and in the pool', async () => {
    self = await launcherStage();
    const broken = nodeClassObject();
    await self.kube.create(ec2NodeClasses, {
      ...broken,
      spec: { ...(broken['spec'] as object), subnetSelectorTerms: [{ tags: { team: 'nobody' } }] },
    });
    await self.kube.create(nodePools, nodePoolObject());
    self.launcher('one');
    const ofClass = await self.until("the class' condition", async () => {
      const held = conditionOf(
        conditionsIn((await self.kube.list(ec2NodeClasses))[0] as KubeObject),
        'SubnetsReady',
      );
      return held?.status === 'False' && held;
    });
    expect(ofClass).toMatchObject({
      reason: 'SubnetsNotFound',
      message: expect.stringContaining('"team":"nobody"'),
    });
    await self.until(
      "the pool's condition",
      async () =>
        conditionOf(
          conditionsIn((await self.kube.list(nodePools))[0] as KubeObject),
          'NodeClassReady',
        )?.reason === 'SubnetsNotFound',
    );
  });

  test('a bus that loses everything hears the head, the promises and the catalog again', async () => {
    await ready({ cloud: { bootDelayMs: 3_600_000 } });
    await pending('a');
    await self.planner.planFor(['a']);
    await self.until('a claim', async () => (await claims()).length === 1);
    self.server.stop();
    self.server.start({ wiped: true });
    const told = async (part: string): Promise<boolean> => {
      const stream = part === 'class' ? 'DOVETAIL_CATALOG_lab' : 'DOVETAIL_STATE_lab';
      const held = await self.bus
        .lastSequences(stream, 'dovetail.lab.>')
        .catch(() => new Map<string, number>());
      return [...held.keys()].some((subject) => subject.includes(`.${part}.`));
    };
    for (const part of ['admission', 'promise', 'class'])
      await self.until(`${part} to be told again`, () => told(part));
  });
});
