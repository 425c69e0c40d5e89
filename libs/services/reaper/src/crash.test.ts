import { kubeResources } from '@dovetail/core-ports';
import type { Death } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { ReaperStage } from './testing/reaper-stage.js';
import { Replacements } from './testing/replacements.js';

const { nodeClaims, nodes } = kubeResources;

/**
 * A story: what is there, what happens, and what must be true at the end, whoever died on the way.
 */
type Story = {
  readonly name: string;
  readonly begin: (cluster: ReaperStage) => Promise<readonly string[]>;
  readonly happens: (cluster: ReaperStage, instances: readonly string[]) => void | Promise<void>;
  readonly nodesLeft: readonly string[];
  readonly replacements: number;
  /** Whether the pods have room on `n2`, so that under-used nodes go. */
  readonly room?: boolean;
  /** Whether a cheaper node is bought for under-used nodes. */
  readonly replaces?: boolean;
  /** Whether several under-used nodes go together. */
  readonly together?: boolean;
  /** Whether a solver's search finds that two nodes go for two. */
  readonly searched?: boolean;
  readonly seconds: number;
};

const never = { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };
const stories: readonly Story[] = [
  {
    name: 'a scale-down of two nodes beside one that stays',
    begin: async (cluster) => {
      await cluster.nodePool('default', {
        consolidationPolicy: 'WhenEmpty',
        consolidateAfter: '5s',
        budgets: [{ nodes: '100%' }],
      });
      const stays = await cluster.node('n1', { cpu: '2' });
      await cluster.scale('web', 2);
      await cluster.budget('web', 2);
      await cluster.pass(1);
      const others = [
        await cluster.node('n2', { cpu: '2' }),
        await cluster.node('n3', { cpu: '2' }),
      ];
      await cluster.scale('job', 4);
      return [stays, ...others].map(({ instanceId }) => instanceId);
    },
    happens: (cluster) => cluster.scale('job', 0),
    nodesLeft: ['n1'],
    replacements: 0,
    seconds: 40,
  },
  {
    name: 'a Spot interruption of a node with pods under a budget',
    begin: async (cluster) => {
      await cluster.nodePool('default', never);
      const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
      await cluster.scale('web', 3);
      await cluster.budget('web', 2);
      return [instanceId];
    },
    happens: (cluster, [instanceId = '']) =>
      cluster.twin.notify({ kind: 'spot-interruption', instanceId }),
    nodesLeft: ['new-1'],
    replacements: 1,
    seconds: 110,
  },
  {
    name: 'the expiry of a node with pods under a budget',
    begin: async (cluster) => {
      await cluster.nodePool('default', never);
      const { instanceId } = await cluster.node('n1', { expireAfterMs: 8_000 });
      await cluster.scale('web', 3);
      await cluster.budget('web', 2);
      return [instanceId];
    },
    happens: () => undefined,
    nodesLeft: ['new-1'],
    replacements: 1,
    seconds: 150,
  },
  {
    name: 'the drift of a node with pods under a budget',
    begin: async (cluster) => {
      await cluster.nodePool('default', never);
      const { instanceId } = await cluster.node('n1');
      await cluster.scale('web', 3);
      await cluster.budget('web', 2);
      return [instanceId];
    },
    happens: (cluster) => cluster.drift('n1', 'AMIDrift'),
    nodesLeft: ['new-1'],
    replacements: 1,
    seconds: 150,
  },
  {
    name: 'the end of an under-used node whose pods fit on another',
    begin: async (cluster) => {
      await cluster.nodePool('default', {
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        consolidateAfter: '5s',
        budgets: [{ nodes: '100%' }],
      });
      const { instanceId } = await cluster.node('n1', { cpu: '2' });
      await cluster.scale('web', 2);
      await cluster.budget('web', 1);
      await cluster.pass(1);
      await cluster.node('n2', {
        cpu: '8',
        nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' },
      });
      return [instanceId];
    },
    happens: () => undefined,
    nodesLeft: ['n2'],
    replacements: 0,
    room: true,
    seconds: 150,
  },
  {
    name: 'the replacement of a node by a cheaper one',
    begin: async (cluster) => {
      await cluster.nodePool('default', {
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        consolidateAfter: '5s',
        budgets: [{ nodes: '100%' }],
      });
      const claimAnnotations = { 'dovetail.sh/price-per-hour': '0.192000' };
      const { instanceId } = await cluster.node('n1', { claimAnnotations });
      await cluster.scale('web', 2);
      await cluster.budget('web', 1);
      return [instanceId];
    },
    happens: () => undefined,
    nodesLeft: ['new-1'],
    replacements: 1,
    replaces: true,
    // A taint without a plan is taken off after 75 s, and the next search begins within 5 min.
    seconds: 500,
  },
  {
    name: 'the replacement of two nodes together by a cheaper one',
    begin: (cluster) => twoUnderUsed(cluster),
    happens: () => undefined,
    nodesLeft: ['new-1'],
    replacements: 1,
    together: true,
    seconds: 500,
  },
  {
    name: 'the replacement of two nodes by two cheaper ones that a search found',
    begin: (cluster) => twoUnderUsed(cluster),
    happens: () => undefined,
    nodesLeft: ['new-1', 'new-2'],
    replacements: 2,
    searched: true,
    seconds: 500,
  },
  {
    name: 'the end of two under-used nodes together',
    begin: async (cluster) => {
      const instances = await twoUnderUsed(cluster);
      await cluster.node('n2', {
        cpu: '8',
        nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' },
      });
      return instances;
    },
    happens: () => undefined,
    nodesLeft: ['n2'],
    replacements: 0,
    room: true,
    together: true,
    seconds: 500,
  },
];

/** Two nodes of one app, `n1` and `n3`. */
async function twoUnderUsed(cluster: ReaperStage): Promise<readonly string[]> {
  await cluster.nodePool('default', {
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { 'dovetail.sh/price-per-hour': '0.192000' };
  const first = await cluster.node('n1', { cpu: '2', claimAnnotations });
  const second = await cluster.node('n3', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  await cluster.budget('web', 2);
  await cluster.pass(1);
  return [first.instanceId, second.instanceId];
}

const twoForTwo = ({ claimUids }: { readonly claimUids: readonly string[] }) =>
  claimUids.length === 2
    ? [{ claimUids, openNodes: [], nodesIn: 2, savedMicrosPerHour: 264_000 }]
    : [];

const configOf = ({ room, replaces, together, searched }: Story) =>
  searched === true
    ? ({ consolidation: 'search' } as const)
    : together === true
      ? ({ consolidation: 'all' } as const)
      : replaces === true
        ? ({ consolidation: 'replace' } as const)
        : room === true
          ? ({ consolidation: 'delete' } as const)
          : {};

/**
 * Plays a story; the first reaper dies at the given effect, another takes over three seconds later.
 */
async function play(
  story: Story,
  death?: Death,
): Promise<{ readonly effects: number; readonly end: unknown }> {
  const cluster = await new ReaperStage().begin();
  const room = story.room === true;
  const made = new Replacements(cluster, {
    afterMs: 5_000,
    node: { cpu: '8' },
    room,
    // Two nodes of one type go only for a cheaper one.
    ...(story.together === true || story.searched === true ? { priceMicrosPerHour: 60_000 } : {}),
    ...(story.searched === true ? { nodesIn: 2, finds: twoForTwo } : {}),
  });
  const config = configOf(story);
  const instances = await story.begin(cluster);
  await cluster.pass(2);
  const first = cluster.reaper(death === undefined ? { config } : { config, death });
  await cluster.pass(3);
  await story.happens(cluster, instances);
  const settled = (): boolean =>
    cluster.names(nodeClaims).join() === story.nodesLeft.map((name) => `claim-${name}`).join() &&
    cluster.names(nodes).join() === story.nodesLeft.join();
  await cluster.pass(story.seconds, () => first.life.dead() || settled(), 1_000);
  const effects = first.life.effects.length;
  if (first.life.dead()) {
    await cluster.pass(3);
    const second = cluster.reaper({ config });
    const { queue } = cluster.twin;
    // A message that was received and not deleted comes back after its visibility timeout.
    await cluster.pass(
      story.seconds,
      () => settled() && queue.depth().visible + queue.depth().hidden === 0,
      1_000,
    );
    second.stop.abort();
  }
  await cluster.pass(2);
  first.stop.abort();
  const end = {
    claims: cluster.names(nodeClaims),
    nodes: cluster.names(nodes),
    instances: cluster.runningInstances().length,
    broken: cluster.broken,
    web: cluster.workloads.podsOf('web').length,
    webOn: cluster.workloads.nodesOf('web'),
    replacements: made.made.length,
    messages: cluster.twin.queue.depth().visible + cluster.twin.queue.depth().hidden,
    commands: cluster.commandsUnderWay().length,
    tainted: JSON.stringify(cluster.list(nodes)).includes('karpenter.sh/disrupted'),
  };
  cluster.end();
  made.stop();
  return { effects, end };
}

describe.each(stories)('$name', (story) => {
  const wanted = {
    claims: story.nodesLeft.map((name) => `claim-${name}`),
    nodes: story.nodesLeft,
    instances: story.nodesLeft.length,
    broken: [],
    web: expect.any(Number),
    webOn: story.nodesLeft,
    replacements: story.replacements,
    messages: 0,
    commands: 0,
    tainted: false,
  };

  test('ends well undisturbed', async () => expect((await play(story)).end).toEqual(wanted));

  test('ends the same way whichever effect the reaper dies before or after', async () => {
    const { effects } = await play(story);
    expect(effects).toBeGreaterThan(10);
    const wrong: unknown[] = [];
    for (let effect = 1; effect <= effects; effect += 1) {
      for (const when of ['before', 'after'] as const) {
        const { end } = await play(story, { at: effect, when });
        try {
          expect(end).toEqual(wanted);
        } catch {
          wrong.push({ effect, when, end });
        }
      }
    }
    expect(wrong).toEqual([]);
  });
});
