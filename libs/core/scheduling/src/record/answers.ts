/**
 * The answers that a plan was given when it asked whether to stop: so many times no, then so many
 * times yes, and so on. Planning learns of time by them alone, so they repeat a plan exactly,
 * however fast the machine is.
 */
export type Answers = readonly number[];

type ShouldStop = (nodes: number) => boolean;

/** Asks `shouldStop`, and notes what it answers. */
export class NotedAnswers {
  readonly #runs: number[] = [0];
  readonly #shouldStop: ShouldStop;

  constructor(shouldStop: ShouldStop) {
    this.#shouldStop = shouldStop;
  }

  readonly shouldStop: ShouldStop = (nodes) => {
    const isStopping = this.#shouldStop(nodes);
    const isOfRun = (this.#runs.length % 2 === 0) === isStopping;
    if (isOfRun) this.#runs[this.#runs.length - 1] = (this.#runs.at(-1) ?? 0) + 1;
    else this.#runs.push(1);
    return isStopping;
  };

  /** The answers so far. */
  get answers(): Answers {
    return [...this.#runs];
  }
}

/** Answers as it was answered. After the last answer it repeats that one. */
export function answering(answers: Answers): ShouldStop {
  let run = 0;
  let left = answers[0] ?? 0;
  return () => {
    while (left === 0 && run < answers.length - 1) {
      run += 1;
      left = answers[run] ?? 0;
    }
    left = Math.max(0, left - 1);
    return run % 2 === 1;
  };
}
