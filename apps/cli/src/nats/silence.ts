/** Notices that nothing was heard for some time, which begins now. */
export class Silence {
  #resolve: () => void = () => undefined;
  /** Resolves once nothing was heard for so long. */
  readonly over = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });
  readonly #timer: NodeJS.Timeout;

  constructor(longestMs: number) {
    this.#timer = setTimeout(() => this.#resolve(), longestMs);
  }

  /** The time begins anew. */
  heard(): void {
    this.#timer.refresh();
  }

  /** Waits no longer. */
  end(): void {
    clearTimeout(this.#timer);
  }
}
