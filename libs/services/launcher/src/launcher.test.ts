import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { conditionsIn, isTrue } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodes, nodeClaims, events } = kubeResources;

async function runPods(...names: readonly string[]): Promise<void> {
  self = await launcherStage();
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
  for (const name of names) await self.kube.create(pods, podObject(name));
  await self.until(
    "the pods in the solver's view",
    () => self.planner.cluster.pods.size === names.length,
  );
  await self.planner.planFor(names);
  await self.until('all pods running', async () =>
    (await self.kube.list(pods)).every(
      (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
    ),
  );
}

/** The fields of the log line of the only decision of this kind. */
function loggedDecision(kind: string): unknown {
  const lines = self.log.lines.filter((line) => line.startsWith(`info decision-${kind} `));
  expect(lines).toHaveLength(1);
  return JSON.parse(/\{.*$/.exec(lines[0] ?? '')?.[0] ?? '');
}

describe('a second Node with the provider ID of an instance', () => {
  const duplicate = async (): Promise<string> => {
    const [real] = await self.kube.list(nodes);
    const { providerID } = real?.['spec'] as { readonly providerID: string };
    await self.kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'other', labels: { ...real?.metadata.labels } },
      spec: { providerID },
      status: real?.['status'],
    } as KubeObject);
    return 'other';
  };

  test('takes nothing from a claim that is registered', async () => {
    await runPods('a');
    const ofClaim = async () => {
      const [claim] = await self.kube.list(nodeClaims);
      return claim?.['status'];
    };
    const before = await self.until('a ready claim', async () => {
      const [claim] = await self.kube.list(nodeClaims);
      return claim !== undefined && isTrue(conditionsIn(claim), 'Ready') && (await ofClaim());
    });
    const told = () => self.said('decision-register').length;
    expect(told()).toBe(1);
    const name = await duplicate();
    // Any change of the claim has the launcher look at it again.
    const [claim] = await self.kube.list(nodeClaims);
    await self.kube.patch(
      { resource: nodeClaims, name: claim?.metadata.name ?? '' },
      { type: 'merge', body: { metadata: { annotations: { 'example.com/note': 'changed' } } } },
    );
    await self.advance(60_000);
    expect(await ofClaim()).toEqual(before);
    await self.kube.delete({ resource: nodes, name }, {});
    await self.advance(60_000);
    expect([await ofClaim(), told()]).toEqual([before, 1]);
  });
});

describe('from a plan to running pods', () => {
  test('an admitted bin becomes a claim, an instance, a node, and its pods run where they were planned', async () => {
    self = await launcherStage();
    await self.readyPool();
    self.launcher('one');
    await self.planningPossible();
    for (const name of ['a', 'b', 'c']) await self.kube.create(pods, podObject(name));
    await self.until("the pods in the solver's view", () => self.planner.cluster.pods.size === 3);
    const planned = await self.planner.planFor(['a', 'b', 'c']);
    expect(planned.plan.newNodes).toHaveLength(1);
    await self.until('all pods running', async () =>
      (await self.kube.list(pods)).every(
        (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
      ),
    );
    const [claim] = await self.until('an initialised claim', async () => {
      const claims = await self.kube.list(nodeClaims);
      return claims.every((each) => isTrue(conditionsIn(each), 'Ready')) && claims;
    });
    const [node] = await self.kube.list(nodes);
    expect(self.twin.instances.all()).toHaveLength(1);
    expect(
      conditionsIn(claim ?? { metadata: { name: '' } })
        .map(({ type, status }) => `${type}=${status}`)
        .sort(),
    ).toEqual([
      'ConsistentStateFound=True',
      'Initialized=True',
      'Launched=True',
      'Ready=True',
      'Registered=True',
    ]);
    expect(claim?.['status']).toMatchObject({
      nodeName: node?.metadata.name,
      providerID: expect.stringMatching(/^aws:\/\/\/us-west-2[ab]\/i-/),
      imageID: expect.stringMatching(/^ami-/),
    });
    // A launched claim needs of its intent only the id: the request is many kilobytes.
    expect(claim?.metadata.annotations?.['dovetail.sh/launch-intent']).toMatch(/^[0-9a-f]{64}$/);
    expect(node?.metadata.labels).toMatchObject({
      'karpenter.sh/nodepool': 'general',
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
      'karpenter.sh/capacity-type': 'on-demand',
    });
    expect(node?.metadata.finalizers).toContain('karpenter.sh/termination');
    expect(
      (node?.['spec'] as { unschedulable?: boolean; taints?: unknown[] }).unschedulable,
    ).toBeUndefined();
    expect(self.log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});

describe('what is told of a launch', () => {
  test('the log says what the decisions say: the packing, and type, zone, capacity type, image and where its id came from', async () => {
    await runPods('a', 'b');
    const [instance] = self.twin.instances.all();
    const { instanceType, zone } = instance ?? {};
    expect(loggedDecision('admit')).toMatchObject({
      pods: '2',
      instanceType,
      capacityType: 'on-demand',
    });
    expect(loggedDecision('launch')).toMatchObject({
      instance: instance?.id,
      instanceType,
      zone,
      capacityType: 'on-demand',
      image: instance?.imageId,
      imageParameter: expect.stringMatching(
        /^\/aws\/service\/eks\/optimized-ami\/1\.\d+\/amazon-linux-2023\/x86_64\/standard\/recommended\/image_id$/,
      ),
      launchTemplate: expect.stringMatching(/^dovetail\//),
      securityGroups: expect.stringMatching(/^sg-/),
    });
  });

  test('each pod hears of its claim when it is admitted, and of its node once that has joined', async () => {
    await runPods('a', 'b');
    const [claim] = await self.kube.list(nodeClaims);
    const [node] = await self.kube.list(nodes);
    for (const name of ['a', 'b']) {
      await self.until(`both Events of ${name}`, async () => {
        const told = (await self.kube.list(events))
          .filter(
            (event) =>
              event['reason'] === 'Nominated' &&
              (event['involvedObject'] as { name?: string }).name === name,
          )
          .map((event) => event['message']);
        if (told.length < 2) return false;
        expect(told.sort()).toEqual([
          `Pod should schedule on: nodeclaim/${claim?.metadata.name}`,
          `Pod should schedule on: nodeclaim/${claim?.metadata.name}, node/${node?.metadata.name}`,
        ]);
        return true;
      });
    }
  });
});
