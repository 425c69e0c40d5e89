import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { kubeResources } from '@dovetail/core-ports';
import { conditionsIn, isTrue } from './lifecycle/conditions.js';
import { eventually, planningPossible, podObject, readyPool, stage, type Stage } from './testing/harness.js';

// Generous: they take a second or two, on a machine that does nothing else.
jest.setTimeout(60_000);
let self: Stage;
afterEach(async () => { await self.end(); });
const { pods, nodes, nodeClaims } = kubeResources;

describe('from a plan to running pods', () => {
  test('an admitted bin becomes a claim, an instance, a node, and its pods run where they were planned', async () => {
    self = await stage();
    await readyPool(self);
    self.launcher('one');
    await planningPossible(self);
    for (const name of ['a', 'b', 'c']) await self.kube.create(pods, podObject(name));
    await eventually('the pods in the solver\'s view', () => self.world.pods.size === 3);
    const planned = await self.planFor(['a', 'b', 'c']);
    expect(planned.plan.newNodes).toHaveLength(1);
    await eventually('all pods running', async () => (await self.kube.list(pods)).every((pod) => (pod['status'] as { phase?: string }).phase === 'Running'));
    const [claim] = await eventually('an initialised claim', async () => {
      const claims = await self.kube.list(nodeClaims);
      return claims.every((each) => isTrue(conditionsIn(each), 'Ready')) && claims;
    });
    const [node] = await self.kube.list(nodes);
    expect(self.twin.instances.all()).toHaveLength(1);
    expect(conditionsIn(claim ?? { metadata: { name: '' } }).map(({ type, status }) => `${type}=${status}`).sort()).toEqual(['Initialized=True', 'Launched=True', 'Ready=True', 'Registered=True']);
    expect(claim?.['status']).toMatchObject({ nodeName: node?.metadata.name, providerID: expect.stringMatching(/^aws:\/\/\/us-west-2[ab]\/i-/), imageID: expect.stringMatching(/^ami-/) });
    expect(node?.metadata.labels).toMatchObject({ 'karpenter.sh/nodepool': 'general', 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true', 'karpenter.sh/capacity-type': 'on-demand' });
    expect(node?.metadata.finalizers).toContain('karpenter.sh/termination');
    expect((node?.['spec'] as { unschedulable?: boolean; taints?: unknown[] }).unschedulable).toBeUndefined();
    expect(self.log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});
