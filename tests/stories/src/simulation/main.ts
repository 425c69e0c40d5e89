import { randomInt } from 'node:crypto';

import { oneOf, readSettings, runMain, wholeNumber } from '@dovetail/runtime';
import { keepTable } from '@dovetail/test-support/results';

import { plainWorld } from './draw.js';
import { keepingWorld } from './keeping-world.js';
import { bothReplayed, noneReplayed, type Replayed, replayed } from './replayed.js';
import { shrunk, simulate, type Simulated } from './simulation.js';
import { noTally, sumOf, type Tally } from './tally.js';
import type { World } from './world.js';

const program = {
  name: 'simulate:faults',
  purpose:
    'Plays random stories of users and faults on the twins, in virtual time. Checks at every moment the laws of tests/stories/README.md: rights, rooms, budgets, limits, prices. At the end no pod is stranded, no instance is doubled or leaked, and each decision’s plan is made again to the same bytes. A story that breaks something is shrunk and printed, and ends the run with exit code 1.',
};

const worlds = { plain: plainWorld, keeping: keepingWorld } as const;

const settings = {
  seed: {
    env: 'SEED',
    flag: 'seed',
    help: 'The first story’s seed; none: it is drawn anew. Each line of output says its seed.',
    fallback: undefined,
    parse: wholeNumber({ least: 0, most: 0xffff_ffff }),
  },
  hours: {
    env: 'HOURS',
    flag: 'hours',
    help: 'Virtual hours of all stories together. A core plays about thirty in a minute.',
    fallback: 100,
    parse: wholeNumber({ least: 1, most: 1_000_000 }),
  },
  each: {
    env: 'EACH',
    flag: 'each',
    help: 'Virtual hours of each story. Each is drawn from the next seed.',
    fallback: 25,
    parse: wholeNumber({ least: 1, most: 10_000 }),
  },
  world: {
    env: 'WORLD',
    flag: 'world',
    help: 'Where the stories play: `plain` has two pools and nearly every fault; `keeping` has three pools of 48 types, prices that move, and two replicas of each service.',
    fallback: 'plain' as keyof typeof worlds,
    parse: oneOf('plain', 'keeping'),
  },
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const args = process.argv.slice(2).filter((arg) => arg !== '--');
  const read = readSettings(program, settings, { env: process.env, args });
  if (read.kind === 'help') return say(read.text);
  const { seed = randomInt(1_000_000), hours, each } = read.settings;
  const world = worlds[read.settings.world];
  const sum: Sum = { played: 0, hours: 0, lines: 0, tally: noTally, replayed: noneReplayed };
  const startedMs = performance.now();
  for (let story = seed; sum.hours < hours; story += 1) {
    const { lines, hours: took, breaches, tally, again } = await playedAgain(story, each, world);
    sum.replayed = bothReplayed(sum.replayed, again);
    sum.tally = sumOf(sum.tally, tally);
    sum.played += 1;
    sum.hours += took;
    sum.lines += lines.length;
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    const found = breaches.length === 0 ? 'nothing broken' : breaches.join('; ');
    say(
      `seed ${String(story)}: ${String(lines.length)} lines, ${found} (${sum.hours.toFixed(1)} h in ${String(seconds)} s)`,
    );
    if (breaches.length > 0) process.exitCode = 1;
    // Kept after each story: a run of many hours that is cut off has a report of what it played.
    await keepSum({ seed, hours, world: read.settings.world }, sum, performance.now() - startedMs);
    if (breaches.length === 0) continue;
    await tellShort(lines, world);
    say(`FAILED: story of seed ${String(story)}, ${String(each)} h: ${breaches.join('; ')}`);
    break;
  }
  const broken = brokenSoFar();
  say(`${String(sum.played - broken)} passed, ${String(broken)} failed`);
}

/** Plays a story, and makes its decisions' plans again at its end. */
async function playedAgain(
  seed: number,
  hours: number,
  world: World,
): Promise<Simulated & { readonly again: Replayed }> {
  let again = noneReplayed;
  const story = await simulate(seed, hours, {
    pace: 'calm',
    world,
    atEnd: async (stage) => void (again = await replayed(stage)),
  });
  return { ...story, again, breaches: [...story.breaches, ...again.faults] };
}

/** One once a story has broken something: it is the last one. */
const brokenSoFar = (): number => (process.exitCode === 1 ? 1 : 0);

/** All stories so far together. */
type Sum = { played: number; hours: number; lines: number; tally: Tally; replayed: Replayed };

/** The title of each world in the report. */
const titles: Readonly<Record<keyof typeof worlds, string>> = {
  plain: 'Random stories of users and faults',
  keeping: 'Random stories of a cluster that is kept cheap',
};

/** The run that was asked for: the first seed, the virtual hours in all, and the world. */
type Asked = { readonly seed: number; readonly hours: number; readonly world: keyof typeof worlds };

/** Keeps all that was played so far with KEEP_RESULTS=1, in a page for each world. */
async function keepSum(asked: Asked, sum: Sum, tookMs: number): Promise<void> {
  if (process.env['KEEP_RESULTS'] !== '1') return;
  const { seed, world } = asked;
  const { played, hours, lines, tally } = sum;
  const { decisions, same, unkept, withoutPlan } = sum.replayed;
  const broken = brokenSoFar();
  const seeds = `${String(seed)} to ${String(seed + played - 1)}`;
  const happened = Object.entries(tally).map(([what, count]) => `${what} ${String(count)}`);
  await keepTable(
    world === 'plain' ? 'simulation' : `simulation-${world}`,
    {
      title: titles[world],
      columns: ['seeds', 'stories', 'virtual hours', 'lines played', 'broken', 'minutes'],
      rows: [[seeds, played, hours.toFixed(1), lines, broken, (tookMs / 60_000).toFixed(1)]],
      summary: [
        `${String(Math.floor(hours))} of ${String(asked.hours)} virtual hours were played`,
        `happened: ${happened.join(', ')}`,
        `${String(decisions)} decisions, each with a reason: the plans of ${String(same)} were made again to the same bytes, those of ${String(unkept)} are not kept, and ${String(withoutPlan)} have none`,
      ],
    },
    'alone',
  );
}

/** Prints the shortest story that still breaks something. */
async function tellShort(lines: readonly string[], world: World): Promise<void> {
  process.exitCode = 1;
  const short = await shrunk(lines, {
    world,
    tell: (left) => process.stderr.write(`  shrunk to ${String(left)} lines\n`),
  });
  say(`\n${short.join('\n')}`);
}

await runMain(main);
