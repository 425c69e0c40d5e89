import { kubeResources } from '@dovetail/core-ports';
import { RandomNumbers } from '@dovetail/core-scheduling';
import { catalogTypes, type TwinType } from '@dovetail/sim-cloud';
import { region } from '@dovetail/sim-stage';
import { runCommand, StoryStage } from '@dovetail/stories';

/** Twenty-four types of six families. */
const types: readonly TwinType[] = catalogTypes(region).filter(({ facts }) =>
  /^(m5|m5a|c5|r5|m6i|c6i)\.(large|xlarge|2xlarge|4xlarge)$/.test(facts.name),
);

/** A cluster that grows in waves and then shrinks. */
export type Aging = {
  readonly apps: number;
  readonly seed: number;
  /** How many nodes of the pool may go at a time: a count or a percentage. */
  readonly budget: string;
  /** Whether the pods of each app spread over zones and hosts. */
  readonly spread: boolean;
  readonly consolidation: StoryStage['settings']['consolidation'];
};

const waves = 4;
const requests = ['250m', '500m', '700m', '1', '2', '3'] as const;

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

/**
 * Starts all services, lets the apps grow in waves and lose a half to four fifths of their pods,
 * and returns the stage at that moment.
 */
export async function aged({
  apps,
  seed,
  budget,
  spread,
  consolidation,
}: Aging): Promise<StoryStage> {
  const stage = await new StoryStage(undefined, types).begin();
  stage.settings = { ...stage.settings, consolidation };
  const random = new RandomNumbers(seed);
  const names = types.map(({ facts }) => facts.name).join(',');
  for (const line of [
    'class default',
    `pool default consolidate=30s budget=${budget} types=${names}`,
    'start services',
    'run 30s',
  ])
    await runCommand(stage, line);
  const all = Array.from({ length: apps }, (_none, index) => ({
    name: `app-${String(index)}`,
    cpu: requests[random.below(requests.length)] ?? '1',
    peak: 4 + random.below(20),
    kept: 20 + random.below(30),
  }));
  const scaleAll = async (share: (app: (typeof all)[number]) => number): Promise<void> => {
    for (const app of all) {
      const replicas = Math.max(1, Math.floor(app.peak * share(app)));
      const spec = spread ? { spec: spreading(app.name) } : {};
      await stage.workloads.scale(app.name, replicas, { cpu: app.cpu, ...spec });
    }
  };
  for (let wave = 1; wave <= waves; wave += 1) {
    await scaleAll(() => wave / waves);
    await runCommand(stage, 'run 3m');
  }
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
