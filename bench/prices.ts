import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import Table from 'cli-table3';

import { kwokType } from './planner/manifests.js';
import { manifestsOf } from './worlds/deployments.js';
import { generatedWorld, type Rules } from './worlds/generated.js';
import { type BenchWorld } from './worlds/objects.js';
import { smallWorld } from './worlds/small.js';

const root = join(import.meta.dirname, '..');

const flags = {
  cases: {
    type: 'string',
    default: 'small,plain 200,plain 1000,plain 3000,spread 1000,spread 3000',
  },
  worlds: { type: 'string', default: '6' },
  budgets: { type: 'string', default: '0,1s,5s' },
  'bound-steps': { type: 'string', default: '600000' },
  seed: { type: 'string', default: '' },
} as const;

/** Goals in percent over the bound, by case and budget: the mean and the worst of the worlds. */
const goals: Readonly<Record<string, { readonly mean: number; readonly worst: number }>> = {
  'small 1s': { mean: 2, worst: 2 },
  ...Object.fromEntries(
    [200, 1_000, 3_000].flatMap((pods) => [
      [`plain ${pods} 1s`, { mean: 0.5, worst: 1.5 }],
      [`plain ${pods} 5s`, { mean: 0.2, worst: 0.5 }],
    ]),
  ),
  'spread 1000 1s': { mean: 3, worst: 3 },
  'spread 3000 1s': { mean: 3, worst: 3 },
};

const sizes = [Infinity, 32, 16] as const;

/** The world of a case and a seed: `small`, or rules and a number of pods, as `plain 200`. */
function worldOf(name: string, seed: number): BenchWorld {
  const [rules = '', pods = ''] = name.split(' ');
  if (rules === 'small') return smallWorld(seed);
  return generatedWorld({
    pods: Number(pods),
    seed,
    vcpusMax: sizes[seed % sizes.length] ?? Infinity,
    rules: rules as Rules,
  });
}

type Answer = {
  readonly cost: { readonly hourly: number; readonly lowerBound: number; readonly bound: string };
  readonly newNodes: readonly unknown[];
  readonly stats: { readonly milliseconds: number; readonly steps: number };
};

/** Bounds are about prices alone, so the options that trade price for fewer nodes are off. */
const leastPrice = [
  ...['--node-charge', '0'],
  ...['--fewer-nodes-within', '0'],
  ...['--assumed-requests', 'none'],
];

/** The answer of the built command in a process of its own. */
async function answerOf(folder: string, args: readonly string[]): Promise<Answer> {
  const files = ['-f', join(folder, 'manifests.yaml'), '--catalog', join(folder, 'catalog.json')];
  const child = spawn(
    process.execPath,
    [join(root, 'dist', 'cli.js'), 'simulate', ...files, '-o', 'json', ...leastPrice, ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  if (code !== 0) throw new Error(`dovetail simulate ended with ${String(code)}`);
  return JSON.parse(text) as Answer;
}

/** One world at every budget. Prices are US dollars per hour. */
type Priced = {
  readonly world: string;
  readonly seed: number;
  readonly bound: number;
  readonly kind: string;
  readonly prices: readonly {
    readonly budget: string;
    readonly hourly: number;
    readonly gap: number;
    readonly nodes: number;
    readonly steps: number;
    readonly milliseconds: number;
  }[];
};

async function priced(
  name: string,
  seed: number,
  what: {
    readonly budgets: readonly string[];
    readonly boundSteps: string;
    readonly folder: string;
  },
): Promise<Priced> {
  const world = worldOf(name, seed);
  const types = world.snapshot.pools.flatMap(({ instanceTypes }) => instanceTypes);
  const { text } = manifestsOf(world.pods, world.snapshot.daemonSets);
  await writeFile(join(what.folder, 'manifests.yaml'), text);
  await writeFile(join(what.folder, 'catalog.json'), JSON.stringify(types.map(kwokType)));
  const answers: Answer[] = [];
  for (const [index, budget] of what.budgets.entries()) {
    const last = index === what.budgets.length - 1;
    const bound = ['--bound-steps', last ? what.boundSteps : '0'];
    answers.push(await answerOf(what.folder, ['--budget', budget, ...bound]));
  }
  const { lowerBound, bound: kind } = answers.at(-1)?.cost ?? { lowerBound: 0, bound: 'none' };
  return {
    world: world.name,
    seed,
    bound: lowerBound,
    kind,
    prices: answers.map(({ cost, newNodes, stats }, index) => ({
      budget: what.budgets[index] ?? '',
      hourly: cost.hourly,
      gap: (cost.hourly / lowerBound - 1) * 100,
      nodes: newNodes.length,
      steps: stats.steps,
      milliseconds: stats.milliseconds,
    })),
  };
}

/** One case, as a line of `bench/results/prices.ndjson`. */
type PricesResult = {
  readonly at: string;
  readonly cpus: number;
  readonly loads: readonly number[];
  readonly name: string;
  readonly boundSteps: string;
  readonly worlds: readonly Priced[];
};

const percent = (value: number): string => `${value.toFixed(2)} %`;
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** A row for each budget: mean and worst over the bound, and whether the goal is met. */
function rowsOf({ name, worlds, loads }: PricesResult): readonly string[][] {
  return (worlds[0]?.prices ?? []).map(({ budget }, at) => {
    const gaps = worlds.map(({ prices }) => prices[at]?.gap ?? 0);
    const worst = worlds[gaps.indexOf(Math.max(...gaps))];
    const goal = goals[`${name} ${budget}`];
    const met =
      goal === undefined ? '-' : mean(gaps) <= goal.mean && Math.max(...gaps) <= goal.worst;
    const times = worlds.map(({ prices }) => prices[at]?.milliseconds ?? 0);
    return [
      name,
      String(worlds.length),
      budget,
      percent(mean(gaps)),
      percent(Math.max(...gaps)),
      `${String(worst?.seed)} (${worst?.kind ?? ''})`,
      `${Math.round(mean(times))}, ${Math.round(Math.max(...times))} ms`,
      met === '-' ? '-' : met ? 'met' : 'missed',
      `${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`,
    ];
  });
}

async function keep(result: PricesResult): Promise<void> {
  const folder = new URL('results/', import.meta.url);
  await mkdir(folder, { recursive: true });
  await appendFile(new URL('prices.ndjson', folder), `${JSON.stringify(result)}\n`);
}

/**
 * Measures how far plans cost above the best lower bound, through the built command in a fresh
 * process. The worlds' seeds follow from one that is drawn anew and printed.
 */
export async function prices(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const seed = values.seed === '' ? randomInt(1, 1_000_000) : Number(values.seed);
  process.stdout.write(`--seed ${seed}\n`);
  const head = ['worlds', 'n', 'budget', 'mean', 'worst', 'its seed', 'planning', 'goal', 'load'];
  const table = new Table({ head });
  const folder = await mkdtemp(join(tmpdir(), 'dovetail-prices-'));
  const budgets = values.budgets.split(',');
  try {
    for (const name of values.cases.split(',')) {
      const worlds: Priced[] = [];
      const loads: number[] = [];
      for (let index = 0; index < Number(values.worlds); index += 1) {
        loads.push(loadavg()[0] ?? 0);
        const one = await priced(name, seed + index, {
          budgets,
          boundSteps: values['bound-steps'],
          folder,
        });
        const gaps = one.prices.map(({ budget, gap }) => `${budget}: ${percent(gap)}`);
        process.stderr.write(`${one.world}: ${gaps.join(', ')} over ${one.kind}\n`);
        worlds.push(one);
      }
      const boundSteps = values['bound-steps'];
      const result = {
        at: new Date().toISOString(),
        cpus: cpus().length,
        loads,
        name,
        boundSteps,
        worlds,
      };
      await keep(result);
      table.push(...rowsOf(result).map((row) => [...row]));
    }
    process.stdout.write(`${table.toString()}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
