/** Time, injected so that whole systems run under a virtual clock. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Resolves after the duration, or at once when `stop` is aborted. Never rejects. */
  sleep(durationMs: number, stop: StopSignal): Promise<void>;
}

/** The part of an AbortSignal that pure code uses. */
export interface StopSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
