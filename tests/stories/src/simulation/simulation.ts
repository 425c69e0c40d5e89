import { runCommand } from '../commands.js';
import type { Sabotage } from '../services.js';
import { StoryStage } from '../story-stage.js';
import { beginning, Draw, ending, type Pace } from './draw.js';
import { breachesAtRest } from './rest.js';
import { Watchman } from './watchman.js';

/** A simulation's end: the lines that were played, how long they were, and what did not hold. */
export type Simulated = {
  readonly lines: readonly string[];
  /** Virtual time. */
  readonly hours: number;
  readonly breaches: readonly string[];
  /** Everything that happened, as a story tells it. */
  readonly told: readonly string[];
};

/** Where the lines come from: drawn on the way, or given. */
type Source = (stage: StoryStage) => { lines(): readonly string[] | undefined };

/** How to play: with a planted bug, and to the end or until something is broken. */
type PlayOptions = {
  readonly sabotage?: Sabotage | undefined;
  readonly stopsAtBreach?: boolean | undefined;
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

async function played(
  source: Source,
  { sabotage, stopsAtBreach = false }: PlayOptions,
): Promise<Simulated> {
  const stage = await new StoryStage(sabotage).begin();
  const watchman = new Watchman(stage);
  const lines: string[] = [];
  const play = async (line: string): Promise<void> => {
    lines.push(line);
    try {
      watchman.hears(line);
      await runCommand(stage, line);
    } catch (error) {
      // A shrunk story may name what its other half would have made. EC2 may not show it yet.
      if (
        !/^(the story has no|no such process)|not found|NotFound|does not exist/.test(
          String((error as Error).message),
        )
      )
        throw error;
    }
  };
  try {
    const from = source(stage);
    for (let next = from.lines(); next !== undefined; next = from.lines()) {
      for (const line of next) await play(line);
      if (stopsAtBreach && watchman.broken().length > 0) break;
    }
    const restless = await breachesThatStay(stage);
    return {
      lines,
      hours: stage.seconds() / 3_600,
      breaches: [...watchman.broken(), ...restless, ...failures(stage)],
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
    const draw = new Draw(seed, stage, pace);
    let part: 'begin' | 'play' | 'end' = 'begin';
    return {
      lines() {
        if (part === 'begin') {
          part = 'play';
          return beginning;
        }
        if (part === 'end') return undefined;
        if (stage.seconds() < hours * 3_600) return draw.lines();
        part = 'end';
        return ending;
      },
    };
  }, options);

/** Plays these lines. */
export const replay = (lines: readonly string[], sabotage?: Sabotage): Promise<Simulated> =>
  played(
    () => {
      let left: readonly string[] | undefined = lines;
      return {
        lines() {
          const given = left;
          left = undefined;
          return given;
        },
      };
    },
    { sabotage },
  );

/** How to shrink: with the planted bug that was found, and with whom to tell of progress. */
export type ShrinkOptions = {
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
  { sabotage, tell = () => undefined }: ShrinkOptions = {},
): Promise<readonly string[]> {
  const [head, tail] = [lines.slice(0, beginning.length), lines.slice(-ending.length)];
  const kindsOf = async (part: readonly string[]): Promise<readonly string[]> =>
    (await replay([...head, ...part, ...tail], sabotage)).breaches.map(kindOf);
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
