import { type KubeObject } from '@dovetail/core-ports';
import { conditionOf, conditionsIn } from '@dovetail/service-kit';
import { nodeClassObject, nodePoolObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import {
  claims,
  ec2NodeClasses,
  minute,
  nodeClaims,
  nodePools,
  open,
  pending,
  ready,
  reasonsOf,
  running,
  self,
} from './testing/faults.js';

describe('bad input', () => {
  test('a pool whose class does not exist is not ready and says what would help', async () => {
    await open();
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
    await open();
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

  test('the pool of a class that is refused says why, and not that the class does not exist', async () => {
    await open();
    await self.kube.create(nodePools, nodePoolObject());
    const spec = { enclaveOptions: { enabled: true } };
    await self.kube.create(ec2NodeClasses, nodeClassObject('default', spec));
    self.launcher('one');
    const condition = await self.until('its condition', async () => {
      const [pool] = await self.kube.list(nodePools);
      const held = conditionOf(conditionsIn(pool as KubeObject), 'NodeClassReady');
      return held?.reason === 'NodeClassNotReady' && held;
    });
    expect(condition).toMatchObject({
      status: 'False',
      message: expect.stringMatching(/^EC2NodeClass\/default is refused: spec\.enclaveOptions/),
    });
  });

  test('a static pool is not ready, and an Event says that it makes no node', async () => {
    await open();
    await self.kube.create(ec2NodeClasses, nodeClassObject());
    const pool = nodePoolObject();
    const spec = { ...(pool['spec'] as object), replicas: 3 };
    await self.kube.create(nodePools, { ...pool, spec });
    self.launcher('one');
    const condition = await self.until('its condition', async () => {
      const [object] = await self.kube.list(nodePools);
      const held = conditionsIn(object as KubeObject);
      return (
        conditionOf(held, 'Ready')?.status === 'False' && conditionOf(held, 'ValidationSucceeded')
      );
    });
    expect(condition).toMatchObject({
      reason: 'StaticPoolUnsupported',
      message: expect.stringMatching(/^spec\.replicas is 3: .*make a pool without replicas$/),
    });
    expect((await reasonsOf('NodePool')).join()).toContain('StaticPoolUnsupported');
  });

  test('a pool and a claim that cannot be read hold up no pod of another pool', async () => {
    await open();
    const { metadata, ...broken } = nodePoolObject('broken');
    const annotations = { 'dovetail.sh/max-price-per-hour': 'cheap' };
    await self.kube.create(nodePools, { ...broken, metadata: { ...metadata, annotations } });
    await self.kube.create(nodeClaims, {
      metadata: { name: 'broken', annotations: { 'dovetail.sh/planned': 'yesterday' } },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [],
      },
    });
    await self.readyPool();
    self.launcher('one');
    await self.planningPossible();
    await pending('a');
    const { plan } = await self.planner.planFor(['a']);
    expect(plan.newNodes.map(({ pool }) => pool.name)).toEqual(['general']);
    await self.until('the pod to run', () => running(1), 2 * minute);
    expect(self.said('object-unreadable').map(({ fields }) => fields['name'])).toContain('broken');
  });

  test.each<[string, object, string, RegExp]>([
    [
      'the taints of nodes',
      { kubelet: { registerWithTaints: [] } },
      'InvalidKubeletConfiguration',
      /spec\.kubelet\.registerWithTaints is \[\]: remove it/,
    ],
    [
      'a setting that its family does not take',
      {
        amiSelectorTerms: [{ alias: 'bottlerocket@latest' }],
        kubelet: { containerLogMaxSize: '50Mi' },
      },
      'UnsupportedKubeletConfiguration',
      /spec\.kubelet\.containerLogMaxSize is "50Mi": nodes of Bottlerocket do not take it/,
    ],
    [
      'enclaves',
      { enclaveOptions: { enabled: true } },
      'NodeClassValidationFailed',
      /spec\.enclaveOptions\.enabled is true/,
    ],
  ])('a class with %s is refused by a condition', async (_what, spec, reason, message) => {
    await open();
    await self.kube.create(ec2NodeClasses, nodeClassObject('default', spec));
    self.launcher('one');
    const condition = await self.until('its condition', async () => {
      const [object] = await self.kube.list(ec2NodeClasses);
      const held = conditionOf(conditionsIn(object as KubeObject), 'ValidationSucceeded');
      return held?.status === 'False' && held;
    });
    expect(condition).toMatchObject({ reason, message: expect.stringMatching(message) });
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
