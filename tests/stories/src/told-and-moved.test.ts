import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { runCommand } from './commands.js';
import { keepingWorld } from './simulation/keeping-world.js';
import { StoryStage } from './story-stage.js';

const { disruptions, ec2NodeClasses, nodeClaims, nodePools, nodes, pods } = kubeResources;
const eventsResource = { ...pods, group: '', plural: 'events', kind: 'Event' } as typeof pods;

type Told = { readonly reason: string; readonly about: string; readonly message: string };

async function played(lines: readonly string[], types?: typeof keepingWorld.types) {
  const stage = await new StoryStage(undefined, types).begin();
  const asked = (): number => stage.asked.filter(({ service }) => service === 'reaper').length;
  const events = (): readonly Told[] =>
    stage.list(eventsResource).map((event) => {
      const about = event['involvedObject'] as { readonly kind: string; readonly name: string };
      const name = stage.narrator.names.replaceIn(about.name);
      const message = stage.narrator.names.replaceIn(String(event['message']));
      return { reason: String(event['reason']), about: `${about.kind}/${name}`, message };
    });
  const run = async (more: readonly string[]): Promise<void> => {
    for (const line of more) await runCommand(stage, line);
    await stage.advance(0);
  };
  await run(lines);
  return { stage, asked, events, run };
}

const beginning = (pool: string): readonly string[] => [
  'class default',
  `pool default ${pool}`,
  'start services',
  'run 30s',
];

describe('what is told agrees with what is done', () => {
  test('an Event says that replacements are launched only for a command that buys', async () => {
    const { events } = await played([
      ...beginning('consolidate=30s types=m5.xlarge'),
      ...['scale web 3 cpu=1', 'run 1m', 'scale api 3 cpu=1', 'run 1m', 'scale web 1'],
      ...['scale api 1', 'run 5m'],
    ]);
    expect(events().filter(({ reason }) => reason === 'DisruptionLaunching')).toEqual([]);
  });
  test('a command that buys has this Event', async () => {
    const { events } = await played([
      ...beginning('consolidate=30s'),
      ...['scale web 3 cpu=1', 'run 2m', 'scale web 1', 'run 5m'],
    ]);
    expect(events().some(({ reason }) => reason === 'DisruptionLaunching')).toBe(true);
  });
  test('each pod that is deleted at the deadline counts once', async () => {
    const { stage } = await played([
      ...beginning('grace=2m'),
      ...['scale web 3 cpu=1', 'run 1m', 'budget web at least 3', 'delete claim claim-1'],
      ...['run 88s', 'watches of reaper stall', 'run 30s', 'watches of reaper go on', 'run 2m'],
    ]);
    expect(stage.metrics.value('karpenter_pods_drained_total')).toBe(3);
  });
  test('no pod that runs is told to have failed to be scheduled', async () => {
    const { stage, events } = await played([
      ...beginning('types=m5.large'),
      ...['scale web 1 cpu=1', 'run 1m'],
      ...['ec2 m5.large@us-west-2a has no capacity', 'ec2 m5.large@us-west-2b has no capacity'],
      ...['label pool default team=a', 'run 10m'],
    ]);
    expect(stage.workloads.nodesOf('web')).not.toContain('none');
    expect(
      events().filter(
        ({ reason, message }) =>
          reason === 'FailedScheduling' && !message.startsWith('no nodes available'),
      ),
    ).toEqual([]);
  });
});

describe('prices that stand still', () => {
  test('let the pods of two Spot nodes be moved once', async () => {
    const names = (keepingWorld.types ?? []).map(({ facts }) => facts.name);
    const shallow = names
      .filter((name) => !name.endsWith('.2xlarge'))
      .flatMap((name) => ['a', 'b'].map((z) => `ec2 ${name}@us-west-2${z} has 3 capacity`));
    const { stage } = await played(
      [
        'settings consolidation=all spot-to-spot=yes prices=1m',
        ...beginning('consolidate=30s types=any capacity=spot'),
        ...['spot prices stand still', 'scale big 1 cpu=14', 'run 1m', 'scale fat 1 cpu=13'],
        ...['run 40s', 'scale web 1 cpu=600m', 'scale api 1 cpu=600m', 'run 15s'],
        ...shallow,
        ...['scale big 0', 'scale fat 0', 'run 58m'],
      ],
      keepingWorld.types,
    );
    expect(stage.list(disruptions)).toHaveLength(1);
  });
});

/** A Spot node stands in the zone that its class selects no more, and nothing may drift. */
async function outsideItsClass(annotation?: string | null) {
  const spot = ['settings consolidation=all spot-to-spot=yes prices=1m', 'class default'];
  const { stage, run } = await played(
    [...spot, 'pool default consolidate=30s types=any capacity=spot'],
    keepingWorld.types,
  );
  await stage.kube.patch(
    { resource: nodePools, name: 'default' },
    {
      type: 'merge',
      body: { spec: { disruption: { budgets: [{ nodes: '0', reasons: ['Drifted'] }] } } },
    },
  );
  await run([
    'start services',
    'run 30s',
    'spot prices stand still',
    'scale web 1 cpu=3',
    'run 3m',
  ]);
  const [node] = stage.list(nodes);
  const [claim] = stage.list(nodeClaims);
  const nodeClass = await stage.kube.get({ resource: ec2NodeClasses, name: 'default' });
  const { subnets } = nodeClass?.['status'] as {
    readonly subnets: readonly { readonly id: string; readonly zone: string }[];
  };
  const other = subnets.find(
    ({ zone }) => zone !== node?.metadata.labels?.['topology.kubernetes.io/zone'],
  );
  if (annotation !== undefined)
    await stage.kube.patch(
      { resource: nodeClaims, name: claim?.metadata.name ?? '' },
      {
        type: 'merge',
        body: { metadata: { annotations: { 'dovetail.sh/price-per-hour': annotation } } },
      },
    );
  await stage.kube.patch(
    { resource: ec2NodeClasses, name: 'default' },
    { type: 'merge', body: { spec: { subnetSelectorTerms: [{ id: other?.id }] } } },
  );
  await run(['run 10m']);
  return { stage, run, before: claim?.metadata.name };
}

describe('a node in a zone that its class selects no more', () => {
  test('stays although all prices fall', async () => {
    const { stage, run, before } = await outsideItsClass();
    await run(['all spot costs 0.3x', 'run 30m']);
    expect(stage.list(nodeClaims).map(({ metadata }) => metadata.name)).toEqual([before]);
  });
  test('stays whatever its annotation says of its price', async () => {
    const { stage, before } = await outsideItsClass('9.999999');
    expect(stage.list(nodeClaims).map(({ metadata }) => metadata.name)).toEqual([before]);
  });
});
