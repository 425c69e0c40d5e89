import colors from 'picocolors';

const paint: Readonly<Record<string, (text: string) => string>> = {
  user: colors.bold, kubernetes: colors.blue, 'pod-watcher': colors.cyan, solver: colors.magenta, launcher: colors.green, reaper: colors.yellow, demo: colors.bold,
};

/** Lines with the time since the start, and who speaks. */
export class Timeline {
  private readonly startedMs = performance.now();
  private readonly write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.write = write;
  }

  say(who: string, what: string): void {
    const seconds = ((performance.now() - this.startedMs) / 1_000).toFixed(2).padStart(7);
    this.write(`${colors.dim(`${seconds} s`)}  ${(paint[who] ?? String)(who.padEnd(11))} ${what}`);
  }
}
