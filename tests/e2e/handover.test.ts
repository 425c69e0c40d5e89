import type { KubeObject } from '@dovetail/core-ports';
import { claims, instances, nodes, untilRunning } from '@dovetail/test-support/cluster';
import {
  conditionsOf,
  type Handover,
  handoverParts,
  isOurs,
  namedPool,
  openHandover,
  settled,
} from '@dovetail/test-support/handover';
import { podObject } from '@dovetail/test-support/placement';
import { realParts } from '@dovetail/test-support/real-parts';
import { deploymentManifest } from '@dovetail/test-support/workload';
import { eventually, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * A live cluster passes from Karpenter's own AWS controller to Dovetail, back, and over again, as
 * docs/guides/migrate-from-karpenter.md says it. The launcher's own handover test compares fields
 * and lets virtual time pass; here both programs run, one at a time.
 */
const parts = await realParts('handing a cluster over from Karpenter and back', handoverParts);

/** A pool of machines that hold one pod of the tests each. */
const pool = (name: string, expireAfter: string): string =>
  namedPool(name, expireAfter, { capacityTypes: ['spot'], vcpusMax: 4 });

/** The objects that must stay when the cluster changes hands, by their kind. */
type Fleet = Readonly<Record<string, readonly string[]>>;

async function fleet(at: TestWorld): Promise<Fleet> {
  return {
    instances: (await instances(at)).map(({ instanceId }) => instanceId),
    nodes: (await nodes(at)).map(({ metadata }) => metadata.uid ?? ''),
    claims: (await claims(at)).map(({ metadata }) => metadata.uid ?? ''),
  };
}

/** The fleet has all that it had, and so many more machines; nothing is on its way out. */
async function expectKept(at: TestWorld, before: Fleet, more: number): Promise<void> {
  const now = await fleet(at);
  for (const [kind, had] of Object.entries(before)) {
    expect(now[kind]).toEqual(expect.arrayContaining([...had]));
    expect([kind, now[kind]?.length]).toEqual([kind, had.length + more]);
  }
  for (const claim of await claims(at)) {
    expect(claim.metadata.deletionTimestamp).toBeUndefined();
    expect(conditionsOf(claim).filter(({ type }) => /Drifted|DisruptionReason/.test(type))).toEqual(
      [],
    );
  }
}

describe.skipIf(parts === undefined)('a cluster that changes hands', () => {
  let at: TestWorld;
  let handover: Handover;
  const scale = async (name: string, replicas: number, all: number): Promise<void> => {
    await at.kubectl('scale', `deployment/${name}`, `--replicas=${replicas}`);
    await untilRunning(at, 'default', all, 120_000);
  };
  /** Interrupts the machine of a claim, and waits until it is gone and all pods run again. */
  const interrupt = async (claim: KubeObject | undefined, all: number): Promise<void> => {
    const { providerID = '' } = (claim?.['status'] ?? {}) as { providerID?: string };
    const instanceId = providerID.split('/').at(-1);
    await at.cloud('POST', 'interrupt', { instanceId });
    await eventually(
      `${instanceId} to be gone, with its claim`,
      async () =>
        (await instances(at)).every((each) => each.instanceId !== instanceId) &&
        (await claims(at)).every(({ metadata }) => metadata.uid !== claim?.metadata.uid),
      120_000,
    );
    await untilRunning(at, 'default', all, 120_000);
  };

  beforeAll(async () => {
    if (parts === undefined) throw new Error('no Karpenter');
    handover = await openHandover(parts.karpenter);
    ({ at } = handover);
    // One machine that will expire soon, whose pool then makes no more.
    await at.kube.putManifests(pool('brief', '30m'));
    await at.kubectl('wait', 'nodepool/brief', '--for=condition=Ready', '--timeout=90s');
    const app = { replicas: 1, cpu: '2500m', memory: '1Gi' };
    await at.kube.putManifests(deploymentManifest({ name: 'old', ...app }));
    await untilRunning(at, 'default', 1, 120_000);
    const limits = JSON.stringify({ spec: { limits: { cpu: '0' } } });
    await at.kubectl('patch', 'nodepool/brief', '--type=merge', `--patch=${limits}`);
    await at.kube.putManifests(pool('steady', '720h'));
    await at.kubectl('wait', 'nodepool/steady', '--for=condition=Ready', '--timeout=90s');
    await at.kube.putManifests(deploymentManifest({ name: 'web', ...app, replicas: 2 }));
    await untilRunning(at, 'default', 3, 120_000);
    await settled(at);
  });
  afterAll(async () => at?.close());

  test('Dovetail takes over: it adds a machine, and leaves those of Karpenter as they are', async () => {
    const before = await fleet(at);
    expect(before['claims']).toHaveLength(3);
    await handover.stopKarpenter();
    await handover.startDovetail();
    await scale('web', 3, 4);
    await settled(at);
    await expectKept(at, before, 1);
    await eventually('the launch as a decision', () => at.decisions.of('launch').length > 0);
    for (const kind of ['disrupt', 'drain', 'terminate'] as const)
      expect(at.decisions.of(kind)).toEqual([]);
  });

  test('it ends and replaces an interrupted machine of Karpenter', async () => {
    const [theirs] = (await claims(at)).filter(
      (claim) => !isOurs(claim) && claim.metadata.labels?.['karpenter.sh/nodepool'] === 'steady',
    );
    await interrupt(theirs, 4);
    expect((await instances(at)).length).toBe(4);
    await settled(at);
  });

  test('Karpenter takes back: it adds a machine, and leaves those of Dovetail as they are', async () => {
    const before = await fleet(at);
    await handover.stopDovetail();
    await handover.startKarpenter();
    await scale('web', 4, 5);
    await settled(at);
    await expectKept(at, before, 1);
  });

  test('it ends and replaces an interrupted machine of Dovetail', async () => {
    await interrupt((await claims(at)).find(isOurs), 5);
    await settled(at);
  });

  test('Dovetail takes over again, and replaces the one machine of Karpenter that expires', async () => {
    const before = await fleet(at);
    const brief = (await claims(at)).filter(
      ({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'brief',
    );
    expect(brief.map(isOurs)).toEqual([false]);
    const gone = brief[0]?.metadata.uid ?? '';
    await handover.stopKarpenter();
    await handover.startDovetail();
    await at.kube.create(
      { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
      podObject('sign', { cpu: '2500m' }),
    );
    await untilRunning(at, 'default', 6, 120_000);
    await settled(at);
    await expectKept(at, before, 1);
    await at.lab.advanceClock(1_801_000);
    await eventually(
      'the end of the expired machine',
      async () => (await claims(at)).every(({ metadata }) => metadata.uid !== gone),
      120_000,
    );
    await untilRunning(at, 'default', 6, 120_000);
    const now = await fleet(at);
    expect(now['claims']).toEqual(
      expect.arrayContaining((before['claims'] ?? []).filter((uid) => uid !== gone)),
    );
    expect(now['instances']).toHaveLength(6);
  });
});
