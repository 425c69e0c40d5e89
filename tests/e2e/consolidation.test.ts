import { kubeResources } from '@dovetail/core-ports';
import { claims, instances, ourNodes, pods, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Two pods fill a c5.large. */
const load = { name: 'load', cpu: '700m', memory: '100Mi' } as const;

/** A budget that no pod of the load may leave. */
const budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: load, namespace: default }
spec: { maxUnavailable: 0, selector: { matchLabels: { app: load } } }
`;

describe.each(await worlds())('consolidation by deletion, on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, env: { reaper: { CONSOLIDATION: 'delete' } } });
    const pool = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '5s' };
    await at.kube.putManifests(
      poolManifest({ clusterName: 'lab', instanceTypes: ['c5.large'], ...pool }),
    );
    await poolReady(at);
    await at.kube.putManifests(deploymentManifest({ ...load, replicas: 4 }));
    await untilRunning(at, 'default', 4);
  });
  afterAll(async () => at?.close());

  const namesOf = async (): Promise<readonly string[]> =>
    (await ourNodes(at)).map(({ metadata }) => metadata.name).sort();
  const said = (reason: string, text: string): Promise<unknown> =>
    eventually(
      `an Event ${reason}: ${text}`,
      async () =>
        (await at.list(kubeResources.events)).some(
          (event) => event['reason'] === reason && String(event['message']).includes(text),
        ),
      90_000,
    );

  /** One pod of each node goes, and its neighbour stays. */
  async function halve(): Promise<void> {
    const byNode = new Map(
      (await pods(at, 'default')).map((pod) => [pod.spec.nodeName, pod.metadata.name]),
    );
    const cost = 'controller.kubernetes.io/pod-deletion-cost=-100';
    await at.kubectl('annotate', 'pod', ...byNode.values(), cost);
    await at.kubectl('scale', 'deployment/load', '--replicas=2');
    await eventually('two pods', async () => (await pods(at, 'default')).length === 2);
  }

  test('full nodes stay, and an Event says that their pods fit nowhere else', async () => {
    const before = await namesOf();
    expect(before).toHaveLength(2);
    await said('Unconsolidatable', 'fits on no other node');
    expect(await namesOf()).toEqual(before);
  });

  test('half-empty nodes stay while a budget holds their pods', async () => {
    const before = await namesOf();
    await at.kube.putManifests(budget);
    await halve();
    await said('DisruptionBlocked', 'Pdb prevents pod evictions');
    expect(await namesOf()).toEqual(before);
  });

  test('of two half-empty nodes one goes: its pod runs on the other, and nothing is bought', async () => {
    const launches = (): number => at.decisions.all.filter(({ kind }) => kind === 'launch').length;
    const before = launches();
    await at.kubectl('delete', 'poddisruptionbudget', 'load');
    await eventually('one node to go', async () => (await namesOf()).length === 1, 120_000);
    await untilRunning(at, 'default', 2);
    const [left] = await namesOf();
    const homes = (await pods(at, 'default')).map(({ spec }) => spec.nodeName);
    expect(homes).toEqual([left, left]);
    await eventually('its claim to go', async () => (await claims(at)).length === 1);
    expect((await instances(at)).filter(({ state }) => state === 'running')).toHaveLength(1);
    expect(launches()).toBe(before);
    expect(
      at.decisions.all
        .filter(({ facts }) => facts['cause'] === 'underutilized')
        .map(({ kind }) => kind),
    ).toEqual(expect.arrayContaining(['disrupt', 'terminate']));
  });
});
