/** The steps that take a trial back, noted while it runs. */
export class UndoLog {
  #steps: (() => void)[] | undefined;

  /** Begins a trial: what is noted from now on can be taken back. */
  begin(): void {
    this.#steps = [];
  }

  /** Notes how to take back what is done next. Outside of a trial nothing is kept. */
  note(step: () => void): void {
    this.#steps?.push(step);
  }

  /** Ends the trial. Unless it holds, all of it is taken back, the last step first. */
  settle(holds: boolean): void {
    const steps = this.#steps ?? [];
    this.#steps = undefined;
    if (!holds) for (const step of steps.toReversed()) step();
  }
}

/** Notes how to give a key its present value again. */
export function noteEntry<K, V>(log: UndoLog, map: Map<K, V>, key: K): void {
  const held = map.get(key);
  log.note(() => {
    if (held === undefined) map.delete(key);
    else map.set(key, held);
  });
}
