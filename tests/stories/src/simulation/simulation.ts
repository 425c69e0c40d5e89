import { runCommand } from '../commands.js';
import type { Sabotage } from '../services.js';
import { StoryStage } from '../story-stage.js';
import { Draw, type Pace, plainWorld } from './draw.js';
import { breachesAtRest } from './rest.js';
import type { Tally } from './tally.js';
import { Watchman } from './watchman.js';
import type { World } from './world.js';

/** A simulation's end: the lines that were played, how long they were, and what did not hold. */
export type Simulated = {
  readonly lines: readonly string[];
  /** Virtual time. */
  readonly hours: number;
  readonly breaches: readonly string[];
  /** How often each thing happened that a story is told for. */
  readonly tally: Tally;
  /** Everything that happened, as a story tells it. */
  readonly told: readonly string[];
};

/** Where the lines come from: drawn on the way, or given. */
type Source = (stage: StoryStage) => { lines(): readonly string[] | undefined };

/** How to play: where, with a planted bug, and to the end or until something is broken. */
type PlayOptions = {
  readonly world?: World | undefined;
  readonly sabotage?: Sabotage | undefined;
  readonly stopsAtBreach?: boolean | undefined;
  /** Looks at the stage once everything has come to rest, with the records of its plans. */
  readonly atEnd?: ((stage: StoryStage) => Promise<void>) | undefined;
};

/**
 * How long the last look waits for rest: a node that expires as the story ends is replaced, booted
 * and drained within this time.
 */
const restMinutesMax = 15;

async function breachesThatStay(stage: StoryStage): Promise<readonly string[]> {
  for (let minute = 0; minute < restMinutesMax; minute += 1) {
    if (breachesAtRest(stage).length === 0) return [];
    await runCommand(stage, 'run 1m');
  }
  return breachesAtRest(stage);
}

/**
 * The reaper looks at everything again every five minutes at the latest, because prices and
 * solvers change without a change of the cluster. A look takes seconds, and may lie in two of these
 * times.
 */
const looks = { eachMs: 30_000, inTenMinutes: 6 };

/** Lets everything come to rest, and tells of it if the reaper does not rest either. */
async function asksAtRest(stage: StoryStage, rest: readonly string[]): Promise<readonly string[]> {
  let sinceMs = stage.clock.nowMs();
  for (const line of rest) {
    sinceMs = stage.clock.nowMs();
    await runCommand(stage, line);
  }
  const times = stage.asked
    .filter(({ service, atMs }) => service === 'reaper' && atMs > sinceMs)
    .map(({ atMs }) => Math.floor((atMs - sinceMs) / looks.eachMs));
  const count = new Set(times).size;
  return count <= looks.inTenMinutes
    ? []
    : [`the reaper does not rest: it asks at ${String(count)} times in ten minutes`];
}

/** A shrunk story may name what its other half would have made. EC2 may not show it yet. */
const impossible = /^(the story has no|no such process)|not found|NotFound|does not exist/;

async function ifPossible(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!impossible.test(String((error as Error).message))) throw error;
  }
}

async function played(
  source: Source,
  { world = plainWorld, sabotage, stopsAtBreach = false, atEnd }: PlayOptions,
): Promise<Simulated> {
  const stage = await new StoryStage(sabotage, world.types).begin();
  if (atEnd !== undefined) stage.settings = { ...stage.settings, records: true };
  const watchman = new Watchman(stage);
  const lines: string[] = [];
  const play = async (line: string): Promise<void> => {
    lines.push(line);
    await ifPossible(() => {
      watchman.hears(line);
      return runCommand(stage, line);
    });
    watchman.looks();
  };
  try {
    const from = source(stage);
    for (let next = from.lines(); next !== undefined; next = from.lines()) {
      for (const line of next) await play(line);
      if (stopsAtBreach && watchman.broken().length > 0) break;
    }
    const restless = await breachesThatStay(stage);
    const asking = world.rest === undefined ? [] : await asksAtRest(stage, world.rest);
    await atEnd?.(stage);
    return {
      lines,
      hours: stage.seconds() / 3_600,
      breaches: [...watchman.broken(), ...restless, ...asking, ...failures(stage)],
      tally: watchman.tally(),
      told: stage.narrator.take(),
    };
  } finally {
    stage.end();
  }
}

/** A copy of a claim and a wrong clock are for a person to see, so they are logged as errors. */
const forPeople = ['instance-of-another-claim', 'clock-wrong'];

const failures = (stage: StoryStage): readonly string[] =>
  stage.log.entries
    .filter(({ level, name }) => level === 'error' && !forPeople.includes(name))
    .map(({ name, message }) => `a service failed: ${name}: ${message}`);

/** Plays a drawn story of at least so many virtual hours; all faults end before its last look. */
export const simulate = (
  seed: number,
  hours: number,
  { pace = 'busy', ...options }: PlayOptions & { readonly pace?: Pace } = {},
): Promise<Simulated> =>
  played((stage) => {
    const { world = plainWorld } = options;
    const draw = new Draw(seed, stage, { pace, world });
    let part: 'begin' | 'play' | 'end' = 'begin';
    return {
      lines() {
        if (part === 'begin') {
          part = 'play';
          return draw.beginning(world);
        }
        if (part === 'end') return undefined;
        if (stage.seconds() < hours * 3_600) return draw.lines();
        part = 'end';
        return world.ending;
      },
    };
  }, options);

/** Plays these lines. */
export const replay = (lines: readonly string[], options: PlayOptions = {}): Promise<Simulated> =>
  played(() => {
    let left: readonly string[] | undefined = lines;
    return {
      lines() {
        const given = left;
        left = undefined;
        return given;
      },
    };
  }, options);

/** How to shrink: with the planted bug that was found, and with whom to tell of progress. */
export type ShrinkOptions = {
  readonly world?: World | undefined;
  readonly sabotage?: Sabotage | undefined;
  readonly tell?: (lines: number) => void;
};

/** A breach without the names and times that another story would have. */
const kindOf = (breach: string): string => breach.replaceAll(/\S*[\d.-]\S*/g, '#');

/**
 * The shortest story found that still breaks the same: halves, quarters and so on of its lines are
 * left out as long as it does (Zeller's delta debugging). Beginning and end stay.
 */
export async function shrunk(
  lines: readonly string[],
  { world = plainWorld, sabotage, tell = () => undefined }: ShrinkOptions = {},
): Promise<readonly string[]> {
  const begun = lines.findIndex((line) => line.startsWith('run '));
  const [head, tail] = [lines.slice(0, begun + 1), lines.slice(-world.ending.length)];
  const kindsOf = async (part: readonly string[]): Promise<readonly string[]> =>
    (await replay([...head, ...part, ...tail], { world, sabotage })).breaches.map(kindOf);
  let middle = lines.slice(head.length, lines.length - tail.length);
  const kinds = new Set(await kindsOf(middle));
  for (let size = Math.ceil(middle.length / 2); ; size = Math.ceil(size / 2)) {
    const before = middle.length;
    for (let from = 0; from < middle.length;) {
      const without = [...middle.slice(0, from), ...middle.slice(from + size)];
      if ((await kindsOf(without)).some((kind) => kinds.has(kind))) tell((middle = without).length);
      else from += size;
    }
    if (size <= 1 && middle.length === before) return [...head, ...middle, ...tail];
  }
}
