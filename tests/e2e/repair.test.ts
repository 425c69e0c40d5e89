import { kubeResources } from '@dovetail/core-ports';
import { claims, instances, ourNodes, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** One pod fills a node, so that each has its own. */
const load = { name: 'load', cpu: '1500m', memory: '100Mi' } as const;

/** A budget that no pod of the load may leave. */
const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: load, namespace: default }
spec: { maxUnavailable: 0, selector: { matchLabels: { app: load } } }
`;

/** A moment more than these conditions are tolerated. */
const toleratedMs = 1_801_000;

/** A condition that begins then, as the EKS node monitoring agent writes it. */
const conditionPatch = (type: string, sinceMs: number): string =>
  JSON.stringify({
    status: {
      conditions: [
        {
          type,
          status: 'False',
          reason: 'BrokenForTheTest',
          lastTransitionTime: new Date(sinceMs).toISOString(),
        },
      ],
    },
  });

describe.each(await worlds())('node repair, on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, env: { reaper: { FEATURE_GATES: 'NodeRepair=true' } } });
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes: ['c5.large'] }));
    await poolReady(at);
    await at.kube.putManifests(deploymentManifest({ ...load, replicas: 3 }));
    await at.kube.putManifests(budget);
    await untilRunning(at, 'default', 3);
  });
  afterAll(async () => at?.close());

  /** How far the clock of the services is ahead of the machine's. */
  let aheadMs = 0;
  const advance = (ms: number): Promise<void> => {
    aheadMs += ms;
    return at.lab.advanceClock(ms);
  };
  /** A node's condition counts from its creation at the earliest, so it must be old enough. */
  const become = (node: string, type: string, agoMs: number): Promise<string> => {
    const patch = conditionPatch(type, Date.now() + aheadMs - agoMs);
    return at.kubectl('patch', 'node', node, '--subresource=status', '-p', patch);
  };
  const eventsOf = async (reason: string): Promise<readonly string[]> =>
    (await at.list(kubeResources.events))
      .filter((event) => event['reason'] === reason)
      .map((event) => String(event['message']));

  test('a node with a condition that is not tolerated any longer is replaced, and ends ten minutes later past its pods’ budget', async () => {
    const [first] = await ourNodes(at);
    const name = first?.metadata.name ?? '';
    await advance(toleratedMs);
    await become(name, 'StorageReady', toleratedMs);
    await eventually('its drain to begin', () =>
      at.decisions.all.some(
        ({ kind, facts }) => kind === 'disrupt' && facts['cause'] === 'unhealthy',
      ),
    );
    expect((await ourNodes(at)).map(({ metadata }) => metadata.name)).toContain(name);
    await advance(601_000);
    await eventually(
      'the node to go',
      async () => !(await ourNodes(at)).some(({ metadata }) => metadata.name === name),
      120_000,
    );
    await untilRunning(at, 'default', 3);
    expect(
      at.decisions.all
        .filter(({ facts }) => facts['cause'] === 'unhealthy')
        .map(({ kind }) => kind),
    ).toEqual(expect.arrayContaining(['disrupt', 'terminate']));
    await eventually('its claim to go', async () => (await claims(at)).length === 3);
    expect((await instances(at)).filter(({ state }) => state === 'running')).toHaveLength(3);
  });

  test('a node whose instance fails its status checks is replaced', async () => {
    const [first] = await ourNodes(at);
    const name = first?.metadata.name ?? '';
    const instanceId = String(first?.spec?.providerID).split('/').at(-1);
    await at.cloud('POST', 'health', { instanceId, instance: 'impaired' });
    await advance(130_000);
    await eventually(
      'the node to go',
      async () => !(await ourNodes(at)).some(({ metadata }) => metadata.name === name),
      150_000,
    );
    await untilRunning(at, 'default', 3);
    expect(
      at.decisions.all.filter(({ facts }) => facts['cause'] === 'instance_status').length,
    ).toBeGreaterThan(0);
  });

  test('no node is repaired while more than a fifth of the pool is unhealthy', async () => {
    const names = (await ourNodes(at)).map(({ metadata }) => metadata.name).sort();
    const [first = '', second = ''] = names;
    await advance(toleratedMs);
    await become(second, 'KernelReady', 0);
    await become(first, 'KernelReady', toleratedMs);
    const told = await eventually('an Event', async () => {
      const found = await eventsOf('NodeRepairBlocked');
      return found.length > 0 && found;
    });
    expect(new Set(told)).toEqual(
      new Set(['more than 20% of nodes in nodepool "default" are unhealthy']),
    );
    expect((await ourNodes(at)).map(({ metadata }) => metadata.name).sort()).toEqual(names);
  });
});
