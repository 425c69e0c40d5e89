import { labels } from '@dovetail/core-api';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { RandomNumbers } from '@dovetail/core-scheduling';
import { catalogTypes, type TwinType } from '@dovetail/sim-cloud';
import { region } from '@dovetail/sim-stage';
import { runCommand, StoryStage } from '@dovetail/stories';

/** Twenty-four types of six families. */
const types: readonly TwinType[] = catalogTypes(region).filter(({ facts }) =>
  /^(m5|m5a|c5|r5|m6i|c6i)\.(large|xlarge|2xlarge|4xlarge)$/.test(facts.name),
);

/** The kinds of clusters, by the rules that their pods are under. */
export const kinds = ['plain', 'spread', 'budgets', 'pools'] as const;
type Kind = (typeof kinds)[number];

/** A cluster that grows in waves and then shrinks. */
export type Aging = {
  readonly apps: number;
  readonly seed: number;
  /** How many nodes of the pool may go at a time: a count or a percentage. */
  readonly budget: string;
  /**
   * `spread`: the pods of each app spread over zones and hosts. `budgets`: each app has a
   * PodDisruptionBudget that lets one pod be unavailable. `pools`: the apps have two pools.
   */
  readonly kind: Kind;
  readonly consolidation: StoryStage['settings']['consolidation'];
};

const waves = 4;
const requests = ['250m', '500m', '700m', '1', '2', '3'] as const;

type App = {
  readonly name: string;
  readonly cpu: string;
  readonly peak: number;
  readonly kept: number;
  readonly pool: string;
};

const spreading = (app: string): object => ({
  topologySpreadConstraints: ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map(
    (topologyKey) => ({
      maxSkew: topologyKey.endsWith('zone') ? 1 : 2,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app } },
    }),
  ),
});

/** Makes the apps' pools, and starts all services. */
async function begun({ budget, kind, consolidation }: Aging): Promise<StoryStage> {
  const stage = await new StoryStage(undefined, types).begin();
  stage.settings = { ...stage.settings, consolidation };
  const names = types.map(({ facts }) => facts.name).join(',');
  const pools = kind === 'pools' ? ['default', 'other'] : ['default'];
  for (const line of [
    'class default',
    ...pools.map((pool) => `pool ${pool} consolidate=30s budget=${budget} types=${names}`),
    'start services',
    'run 30s',
  ])
    await runCommand(stage, line);
  return stage;
}

function appsOf({ apps, seed, kind }: Aging): readonly App[] {
  const random = new RandomNumbers(seed);
  return Array.from({ length: apps }, (_none, index) => ({
    name: `app-${String(index)}`,
    cpu: requests[random.below(requests.length)] ?? '1',
    peak: 4 + random.below(20),
    kept: 20 + random.below(30),
    pool: kind === 'pools' && index % 2 === 1 ? 'other' : 'default',
  }));
}

const budgetOf = ({ name }: App): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
});

const specOf = ({ name, pool }: App, kind: Kind): object => ({
  ...(kind === 'spread' ? spreading(name) : {}),
  ...(kind === 'pools' ? { nodeSelector: { [labels.nodePool]: pool } } : {}),
});

/**
 * Starts all services, lets the apps grow in waves and lose a half to four fifths of their pods,
 * and returns the stage at that moment.
 */
export async function aged(aging: Aging): Promise<StoryStage> {
  const { kind } = aging;
  const stage = await begun(aging);
  const all = appsOf(aging);
  const scaleAll = async (share: (app: App) => number): Promise<void> => {
    for (const app of all) {
      const replicas = Math.max(1, Math.floor(app.peak * share(app)));
      const { name, cpu } = app;
      await stage.workloads.scale(name, replicas, { cpu, spec: specOf(app, kind) });
    }
  };
  for (let wave = 1; wave <= waves; wave += 1) {
    await scaleAll(() => wave / waves);
    await runCommand(stage, 'run 3m');
  }
  for (const app of kind === 'budgets' ? all : [])
    await stage.kube.create(kubeResources.podDisruptionBudgets, budgetOf(app));
  await scaleAll(({ kept }) => kept / 100);
  await runCommand(stage, 'run 1m');
  return stage;
}

const prices = new Map(
  types.map(({ facts, onDemandPriceMicros = 0 }) => [facts.name, onDemandPriceMicros]),
);

/** The price of all nodes, in micro-dollars an hour. */
export const priceOf = (stage: StoryStage): number =>
  stage.list(kubeResources.nodeClaims).reduce((sum, { metadata: { labels = {} } }) => {
    const type = labels['node.kubernetes.io/instance-type'] ?? '';
    return sum + (prices.get(type) ?? 0);
  }, 0);
