import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import {
  bindByHand,
  endInstance,
  latestHolders,
  latestNodes,
  nodesOfClaims,
  untilClosed,
} from '@dovetail/test-support/binding';
import {
  addForeignNode,
  claims,
  instances,
  pods,
  runningPods,
  untilNothingLeft,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { untilSeenEmpty } from '@dovetail/test-support/emptiness';
import { allInitialized, boundTo, poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

/**
 * Changes to pods and nodes between a plan and its end strand no pod. Four nodes are full to the
 * last millicore with five pods each, so a replacement fits only into its predecessor's room.
 */
const world = (await worlds()).includes('real') ? 'real' : 'twin';
const [nodesPlanned, podsPerNode] = [4, 5] as const;
const podsPlanned = nodesPlanned * podsPerNode;
/** A fifth of the room for pods on 8 vCPU, after the kubelet's own share. */
const load = { name: 'load', cpu: '1580m', memory: '100Mi' } as const;
/**
 * Nodes join one after the other and stay closed for ten seconds, to leave time for the changes.
 */
const cloud = { JOIN_STAGGER_MS: '1000', READY_MS: '10000' } as const;
/** Successors that come one by one are planned together, as those of one Deployment at once are. */
const batches = { BATCH_IDLE_DURATION: '2s', BATCH_MAX_DURATION: '10s' } as const;

const uidOf = (pod: KubeObject): string => pod.metadata.uid ?? '';

describe(`plans that are disturbed, on the ${world} world`, () => {
  let at: TestWorld;
  /** The pods of the scale-up, and the claim on which each was planned. */
  let first: ReadonlyMap<string, string>;

  beforeAll(async () => {
    at = await openWorld({ world, env: { cloud, 'pod-watcher': batches } });
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes: ['c5.2xlarge'] }));
    await at.kube.putManifests(deploymentManifest({ ...load, replicas: 0 }));
    await addForeignNode(at, {
      name: 'foreign',
      labels: {},
      taints: [{ key: 'example.com/foreign', effect: 'NoSchedule' }],
    });
    await poolReady(at);
  });
  afterAll(async () => at?.close());
  afterEach(async () => {
    await at.kubectl('scale', 'deployment/load', '--replicas=0');
    // Pods of a lost node go only after its Node has gone and the control plane's collector has
    // passed.
    await eventually('no pods', async () => (await pods(at, 'default')).length === 0, 180_000);
    await untilSeenEmpty(at, 'default');
    await at.lab.advanceClock(11_000);
    await untilNothingLeft(at);
  });

  async function scaleUp(): Promise<void> {
    await at.kubectl('scale', 'deployment/load', `--replicas=${podsPlanned}`);
    const made = await eventually('all pods', async () => {
      const all = await pods(at, 'default');
      return all.length === podsPlanned && all;
    });
    await eventually('a plan for every pod', () =>
      made.every((pod) => latestHolders(at).has(uidOf(pod))),
    );
    first = new Map(made.map((pod) => [uidOf(pod), latestHolders(at).get(uidOf(pod)) ?? '']));
    expect(new Set(first.values()).size).toBe(nodesPlanned);
  }

  /**
   * All claims, whose nodes are closed by now, in the order in which they joined. They will open in
   * that order.
   */
  async function closedClaims(): Promise<readonly string[]> {
    const closed = await untilClosed(at, nodesPlanned);
    return at.decisions
      .of('register')
      .flatMap(({ claimName = '' }) => (closed.includes(claimName) ? [claimName] : []));
  }

  const podOf = async (claim: string): Promise<KubeObject> => {
    const found = (await pods(at, 'default')).find((pod) => first.get(uidOf(pod)) === claim);
    if (found === undefined) throw new Error(`no pod was planned on ${claim}`);
    return found;
  };

  /**
   * Pods are where they were planned last, and undisturbed pods were planned once. Successors may
   * come in two batches, for a node each.
   */
  async function expectPlanned(options: {
    readonly disturbed: (uid: string) => boolean;
    readonly successorsApart?: boolean;
  }): Promise<void> {
    await eventually('every node to be initialised', () => allInitialized(at));
    const [running, planned, holders] = [
      await runningPods(at, 'default'),
      await latestNodes(at),
      latestHolders(at),
    ];
    for (const pod of running) {
      const [uid, node] = [uidOf(pod), pod.spec.nodeName];
      if (options.successorsApart !== true || first.has(uid))
        expect({ uid, node }).toEqual({ uid, node: planned.get(uid) });
      if (!options.disturbed(uid))
        expect({ uid, holder: holders.get(uid) }).toEqual({ uid, holder: first.get(uid) });
    }
    const made = (await claims(at)).length;
    expect(
      options.successorsApart === true ? [nodesPlanned, nodesPlanned + 1] : [nodesPlanned],
    ).toContain(made);
    expect((await instances(at)).length).toBe(made);
  }

  test('a pod that is deleted: its successor takes its room, the others are where they were planned', async () => {
    await scaleUp();
    const [claim = ''] = await untilClosed(at, 1);
    const deleted = await podOf(claim);
    await at.kube.delete({
      resource: kubeResources.pods,
      namespace: 'default',
      name: deleted.metadata.name,
    });
    await untilRunning(at, 'default', podsPlanned, 120_000);
    await expectPlanned({ disturbed: (uid) => !first.has(uid) });
    const successor = (await pods(at, 'default')).find((pod) => !first.has(uidOf(pod)));
    expect(successor?.spec.nodeName).toBe((await nodesOfClaims(at)).get(claim));
  });

  // Any pod may take the room on a node that opens: kube-scheduler may put a pod there whose own
  // node is still to open. So the room is on the last node.
  test('a pod that is bound elsewhere, to a node that is not ours: the others are where they were planned', async () => {
    await scaleUp();
    const moved = await podOf((await closedClaims()).at(-1) ?? '');
    await bindByHand(at, moved, 'foreign');
    await untilRunning(at, 'default', podsPlanned - 1, 120_000);
    expect((await boundTo(at)).get(uidOf(moved))).toBe('foreign');
    await expectPlanned({ disturbed: () => false });
  });

  test('a pod that is bound to another node of the plan: the one that finds no room there any more gets the room that is free', async () => {
    await scaleUp();
    const closed = await closedClaims();
    const [taken, left] = [closed[0] ?? '', closed.at(-1) ?? ''];
    const moved = await podOf(left);
    const nodeOf = await nodesOfClaims(at);
    const [takenNode, leftNode] = [nodeOf.get(taken) ?? '', nodeOf.get(left) ?? ''];
    await bindByHand(at, moved, takenNode);
    await untilRunning(at, 'default', podsPlanned, 120_000);
    const bound = await boundTo(at);
    expect(bound.get(uidOf(moved))).toBe(takenNode);
    const displaced = [...first]
      .filter(([uid, claim]) => claim === taken && bound.get(uid) !== takenNode)
      .map(([uid]) => uid);
    expect(displaced.map((uid) => bound.get(uid))).toEqual([leftNode]);
    for (const [uid, claim] of first)
      if (uid !== uidOf(moved) && !displaced.includes(uid))
        expect({ uid, node: bound.get(uid) }).toEqual({ uid, node: nodeOf.get(claim) });
    expect((await claims(at)).length).toBe(nodesPlanned);
  });

  test.each([
    ['before it joins', async () => [...new Set(first.values())][0] ?? ''],
    ['while it is kept for its pods', async () => (await untilClosed(at, 1))[0] ?? ''],
    [
      'when its pods run',
      async () => {
        await untilRunning(at, 'default', podsPlanned, 120_000);
        await eventually('every node to be initialised', () => allInitialized(at));
        return [...new Set(first.values())][0] ?? '';
      },
    ],
  ] as const)(
    'a node whose instance is ended %s: another comes for its pods, the others are where they were planned',
    async (moment, victim) => {
      await scaleUp();
      const claim = await victim();
      await endInstance(at, claim);
      await eventually(
        'the claim to go',
        async () => !(await claims(at)).some(({ metadata }) => metadata.name === claim),
        120_000,
      );
      await untilRunning(at, 'default', podsPlanned, 120_000);
      await expectPlanned({
        disturbed: (uid) => !first.has(uid) || first.get(uid) === claim,
        successorsApart: moment === 'when its pods run',
      });
    },
  );
});
