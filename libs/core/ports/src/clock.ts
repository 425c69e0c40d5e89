/** Time, injected so that whole systems run under a virtual clock. */
export interface Clock {
  nowMs(): number;
  /** Resolves after the duration, or at once when `stop` is aborted. Never rejects. */
  sleep(durationMs: number, stop: StopSignal): Promise<void>;
}

/** What pure code may know of an AbortSignal. */
export interface StopSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Randomness, injected: a deterministic stream from a seed in tests, strong in production. */
export interface Random {
  /** `length` lower-case letters and digits. */
  token(length: number): string;
}
