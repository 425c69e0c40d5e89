import { type KubeObject } from '@dovetail/core-ports';
import { claims, instances, nodes, pods, untilRunning } from '@dovetail/test-support/cluster';
import {
  type Handover,
  handoverParts,
  namedPool,
  openHandover,
  settled,
} from '@dovetail/test-support/handover';
import { realParts } from '@dovetail/test-support/real-parts';
import { Witness } from '@dovetail/test-support/witness';
import { deploymentManifest } from '@dovetail/test-support/workload';
import { eventually, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Nodes that one program made and the other took over drift and are consolidated as its own, and
 * claims that one of them could not launch any more are launched by the other.
 */
const parts = await realParts('drift and consolidation of adopted nodes', handoverParts);

/** Two pods fill a c5.large. */
const load = { name: 'load', cpu: '700m', memory: '100Mi' } as const;

describe.skipIf(parts === undefined)('nodes that were taken over', () => {
  let at: TestWorld;
  let handover: Handover;
  let seen: Witness;
  const names = async (): Promise<readonly string[]> =>
    (await claims(at)).map(({ metadata }) => metadata.name).toSorted();
  const scale = (replicas: number): Promise<string> =>
    at.kubectl('scale', 'deployment/load', `--replicas=${replicas}`);
  const patch = (object: string, spec: object): Promise<string> =>
    at.kubectl('patch', object, '--type=merge', `--patch=${JSON.stringify({ spec })}`);
  /** While the orders stand, EC2 refuses to launch; a claim that is made then has no instance. */
  const refuseLaunches = (): Promise<unknown> =>
    at.cloud('POST', 'fail', {
      action: 'ec2:CreateFleet',
      code: 'RequestLimitExceeded',
      times: 999,
    });
  const unlaunched = (): Promise<KubeObject> =>
    eventually('a claim without an instance', async () =>
      (await claims(at)).find(
        ({ status }) => ((status ?? {}) as { providerID?: string }).providerID === undefined,
      ),
    );
  /** The claim of two more pods, which the one side cannot launch, is launched by the other. */
  async function expectTakenUp(
    stop: () => Promise<void>,
    start: () => Promise<void>,
  ): Promise<void> {
    const before = await names();
    await refuseLaunches();
    await scale(6);
    const { metadata } = await unlaunched();
    await stop();
    await at.cloud('DELETE', 'fail');
    await start();
    await untilRunning(at, 'default', 6, 120_000);
    await settled(at);
    expect(await names()).toEqual([...before, metadata.name].toSorted());
    expect(seen.claims.get(metadata.uid ?? '')?.instances.size).toBe(1);
    expect((await instances(at)).length).toBe(before.length + 1);
  }
  /** One pod of each of so many nodes goes, and its neighbour stays. */
  async function halve(count: number): Promise<void> {
    const all = await pods(at, 'default');
    const byNode = new Map(all.map(({ spec, metadata }) => [spec.nodeName, metadata.name]));
    const cost = 'controller.kubernetes.io/pod-deletion-cost=-100';
    await at.kubectl('annotate', 'pod', ...[...byNode.values()].slice(0, count), cost);
    await scale(all.length - count);
    await untilRunning(at, 'default', all.length - count);
  }
  /** Waits until one of the claims and its instance are gone, and nothing else. */
  async function untilOneIsGone(before: readonly string[]): Promise<void> {
    await eventually(
      'one claim and its instance to be gone',
      async () =>
        (await names()).length === before.length - 1 &&
        (await instances(at)).length === before.length - 1,
      180_000,
    );
    expect(before).toEqual(expect.arrayContaining([...(await names())]));
  }
  /** A change of the class replaces every node; all pods run again, on nodes of the new class. */
  async function expectReplacedBy(team: string): Promise<void> {
    const before = await names();
    const running = (await pods(at, 'default')).length;
    await patch('ec2nodeclass/default', { tags: { team } });
    await eventually(
      'other claims and instances',
      async () => {
        const now = await names();
        return (
          now.length === before.length &&
          now.every((name) => !before.includes(name)) &&
          (await instances(at)).every(({ tags }) => tags['team'] === team)
        );
      },
      300_000,
    );
    await untilRunning(at, 'default', running, 120_000);
    expect((await nodes(at)).length).toBe(before.length);
    await settled(at);
  }

  beforeAll(async () => {
    if (parts === undefined) throw new Error('no Karpenter');
    handover = await openHandover(parts.karpenter);
    ({ at } = handover);
    seen = new Witness(at);
    const pool = {
      instanceTypes: ['c5.large'],
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: 'Never',
      budgets: '[{ nodes: "1" }]',
    };
    await at.kube.putManifests(namedPool('steady', '720h', pool));
    await at.kubectl('wait', 'nodepool/steady', '--for=condition=Ready', '--timeout=90s');
    await at.kube.putManifests(deploymentManifest({ ...load, replicas: 4 }));
    await untilRunning(at, 'default', 4, 120_000);
    await settled(at);
  });
  afterAll(async () => {
    await seen?.close();
    await at?.close();
  });

  test('a claim that Karpenter made and could not launch is launched once by Dovetail', () =>
    expectTakenUp(handover.stopKarpenter, handover.startDovetail));

  test('Dovetail consolidates: of two half-empty nodes of Karpenter one goes, and none is bought', async () => {
    const before = await names();
    await halve(2);
    const launches = at.decisions.of('launch').length;
    await patch('nodepool/steady', { disruption: { consolidateAfter: '5s' } });
    await untilOneIsGone(before);
    await patch('nodepool/steady', { disruption: { consolidateAfter: 'Never' } });
    await untilRunning(at, 'default', 4);
    expect(at.decisions.of('launch').length).toBe(launches);
    const ended = at.decisions.of('terminate').map(({ facts }) => facts['cause']);
    expect(ended).toEqual(['underutilized']);
  });

  test("a change of the class drifts Karpenter's nodes, and Dovetail replaces them one by one", async () => {
    await expectReplacedBy('a');
    const drifted = at.decisions.all.filter(
      ({ kind, facts }) => facts['cause'] === 'drifted' && ['disrupt', 'drain'].includes(kind),
    );
    expect(drifted.map(({ kind }) => kind)).toEqual(['disrupt', 'drain', 'disrupt', 'drain']);
  });

  test('a claim that Dovetail made and could not launch is launched once by Karpenter', () =>
    expectTakenUp(() => handover.stopDovetail(), handover.startKarpenter));

  test('Karpenter consolidates: of two half-empty nodes of Dovetail one goes', async () => {
    const before = await names();
    await halve(2);
    await patch('nodepool/steady', { disruption: { consolidateAfter: '5s' } });
    await untilOneIsGone(before);
    await patch('nodepool/steady', { disruption: { consolidateAfter: 'Never' } });
    await untilRunning(at, 'default', 4);
  });

  test("a change of the class drifts Dovetail's nodes, and Karpenter replaces them", () =>
    expectReplacedBy('b'));
});
