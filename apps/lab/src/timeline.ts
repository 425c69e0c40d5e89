import { lookUp } from '@dovetail/core-invariant';
import colors from 'picocolors';

const paint: Readonly<Record<string, (text: string) => string>> = {
  user: colors.bold,
  kubernetes: colors.blue,
  'pod-watcher': colors.cyan,
  solver: colors.magenta,
  launcher: colors.green,
  reaper: colors.yellow,
  demo: colors.bold,
};

/** The steps of the main job, in the order in which each is first seen. */
export const story = [
  'pods pending',
  'batch',
  'plan',
  'fleet',
  'node ready',
  'pods running',
  'scaled down',
  'node gone',
] as const;

/**
 * Prints lines with the time since the start, the speaker, the step and the text. A line may come
 * after later ones: a plan, for instance, is told once its bound is proven.
 */
export class Timeline {
  readonly #startedMs = Date.now();
  readonly #firstSeconds = new Map<string, string>();
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** `atMs`: when it happened, in milliseconds since 1970; now unless it is given. */
  say(who: string, step: string, what: string, atMs = Date.now()): void {
    const seconds = ((atMs - this.#startedMs) / 1_000).toFixed(2);
    if (!this.#firstSeconds.has(step)) this.#firstSeconds.set(step, seconds);
    this.#write(
      `${colors.dim(`${seconds.padStart(6)} s`)}  ${(lookUp(paint, who) ?? String)(who.padEnd(11))}  ${colors.bold(step.padEnd(12))}  ${what}`,
    );
  }

  /** The steps of the story that have not happened yet. */
  missing(): readonly string[] {
    return story.filter((step) => !this.#firstSeconds.has(step));
  }

  /** The story in one line: the first time of each step. */
  summary(): string {
    return story.map((step) => `${step} ${this.#firstSeconds.get(step) ?? 'never'} s`).join(' → ');
  }
}
