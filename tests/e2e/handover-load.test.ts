import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { TwinInstance } from '@dovetail/test-support/cluster';
import {
  type Handover,
  handoverParts,
  namedPool,
  openHandover,
  settled,
} from '@dovetail/test-support/handover';
import { realParts } from '@dovetail/test-support/real-parts';
import { Users, waitingMost } from '@dovetail/test-support/users';
import { Witness } from '@dovetail/test-support/witness';
import { eventually, type TestWorld } from '@dovetail/test-support/world';
import { type RunningPart, startPart } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * A cluster whose users scale and whose pods come and go passes from Karpenter's own AWS controller
 * to Dovetail and back, while they go on. Its pool ends no node of its own accord, so every node
 * that goes was rolled.
 */
const parts = await realParts('handing a busy cluster over and back', handoverParts);

/** So many pods wait before the next one starts: it finds work. */
const backlog = 15;
/**
 * No pod is passed by more later ones than this. A limit in pods holds on a machine of any speed; a
 * pod that is forgotten is passed by all that the users still make, which are more.
 */
const overtakenMost = 3 * waitingMost;
/**
 * The room that is bought, as a share of the most that was ever requested, and a node beside it.
 * Pods that were bought twice, by the side that went and by the one that came, would exceed it.
 */
const [roomShareMost, nodeMillicores] = [1.2, 4_000] as const;

/** A line of `dovetail shadow -o json`. Prices are US dollars an hour. */
type Compared = {
  readonly karpenter: { readonly nodes: readonly object[]; readonly price: number };
  readonly dovetail: { readonly podsUnplaced: number };
};

/** Starts `dovetail shadow` once Karpenter shows its prices. Returns once it watches. */
async function startShadow({ at, metricsUrl }: Handover): Promise<RunningPart> {
  // It writes them once a minute, from the first pool on.
  const page = async (): Promise<string> => await (await fetch(metricsUrl)).text();
  const priced = async (): Promise<boolean> => (await page()).includes('offering_price_estimate{');
  await eventually("Karpenter's prices", priced, 180_000);
  const logFile = join(at.lab.options.dir, 'logs', 'shadow.log');
  const flags = ['--catalog', at.lab.options.region, '--prices', metricsUrl, '-o', 'json'];
  return await startPart({
    name: 'shadow',
    command: process.execPath,
    args: [join(at.lab.options.distDir, 'cli.js'), 'shadow', ...flags],
    env: { KUBECONFIG: at.lab.kubeconfig },
    logFile,
    ready: async () => (await readFile(logFile, 'utf8')).includes('watching'),
    readyDeadlineMs: 120_000,
  });
}

describe.skipIf(parts === undefined)('a busy cluster that changes hands', () => {
  let at: TestWorld;
  let handover: Handover;
  let seen: Witness;
  let users: Users;
  let shadow: RunningPart;

  beforeAll(async () => {
    if (parts === undefined) throw new Error('no Karpenter');
    handover = await openHandover(parts.karpenter);
    ({ at } = handover);
    seen = new Witness(at);
    const pool = { capacityTypes: ['spot', 'on-demand'], vcpusMax: 4, consolidateAfter: 'Never' };
    await at.kube.putManifests(namedPool('busy', '720h', pool));
    await at.kubectl('wait', 'nodepool/busy', '--for=condition=Ready', '--timeout=90s');
    users = new Users(at, seen, 7);
    shadow = await startShadow(handover);
  });
  afterAll(async () => {
    await shadow?.stop();
    await users?.end();
    await seen?.close();
    await at?.close();
  });

  const everLaunched = async (): Promise<readonly string[]> =>
    (await at.cloud<readonly TwinInstance[]>('GET', 'instances'))
      .map(({ instanceId }) => instanceId)
      .toSorted();
  const untilBacklog = (): Promise<unknown> =>
    eventually(`${backlog} pods to wait`, () => seen.waiting() >= backlog);

  /** No node, claim or instance has gone or was to go, and each claim had one instance and node. */
  async function expectNoneRolledAndNoneTwice(): Promise<void> {
    expect([...seen.doomedNodes]).toEqual([]);
    const claims = [...seen.claims.values()];
    expect(claims.filter(({ doomed }) => doomed.size > 0)).toEqual([]);
    expect(claims.filter((each) => each.instances.size !== 1 || each.nodes.size !== 1)).toEqual([]);
    // Of the instances that EC2 has ever started, each is that of one claim.
    expect(await everLaunched()).toEqual(claims.flatMap((each) => [...each.instances]).toSorted());
  }

  /** No more was bought than the pods needed, and no pod was forgotten over others. */
  function expectEnoughForAll(): void {
    const room = [...seen.roomOfNodes.values()].reduce((sum, each) => sum + each, 0);
    expect(room).toBeLessThan(roomShareMost * seen.peakMillicores + nodeMillicores);
    const passed = [...seen.pods.values()].filter(({ overtaken }) => overtaken > overtakenMost);
    expect(passed).toEqual([]);
  }

  test('Karpenter runs it, and shadow compares each of its launches beside it', async () => {
    await users.start();
    await users.more(8);
    await users.rest();
    await expectNoneRolledAndNoneTwice();
    expectEnoughForAll();
    expect(seen.claims.size).toBeGreaterThan(2);
    const compared = async (): Promise<readonly Compared[]> =>
      (await readFile(shadow.logFile, 'utf8'))
        .split('\n')
        .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Compared] : []));
    await eventually('a comparison of each launch', async () => {
      const launched = (await compared()).flatMap(({ karpenter }) => karpenter.nodes);
      return launched.length === seen.claims.size;
    });
    for (const { karpenter, dovetail } of await compared()) {
      expect(karpenter.price).toBeGreaterThan(0);
      expect(dovetail.podsUnplaced).toBe(0);
    }
    await shadow.stop();
    expect(await readFile(shadow.logFile, 'utf8')).toMatch(
      new RegExp(`^${seen.claims.size} launches and 0 ends compared`, 'm'),
    );
  });

  test('Dovetail takes it over while pods come and go', async () => {
    const before = seen.claims.size;
    users.resume();
    await users.more(2);
    await handover.stopKarpenter();
    await untilBacklog();
    await handover.startDovetail();
    await users.more(12);
    await users.rest();
    await settled(at);
    await expectNoneRolledAndNoneTwice();
    expectEnoughForAll();
    expect(seen.claims.size).toBeGreaterThan(before);
    for (const kind of ['disrupt', 'drain', 'terminate'] as const)
      expect(at.decisions.of(kind)).toEqual([]);
  });

  test('Karpenter takes it back while pods come and go', async () => {
    const before = seen.claims.size;
    users.resume();
    await users.more(2);
    await handover.stopDovetail(/^pod-watcher$/);
    await settled(at);
    await handover.stopDovetail();
    await untilBacklog();
    await handover.startKarpenter();
    await users.more(12);
    await users.rest();
    await expectNoneRolledAndNoneTwice();
    expectEnoughForAll();
    expect(seen.claims.size).toBeGreaterThan(before);
  });
});
