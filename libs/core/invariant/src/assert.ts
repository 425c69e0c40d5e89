/**
 * A broken law of the code: a bug, never bad input. Callers do not recover from it, because going
 * on would act on an impossible state. A service ends with it and logs it.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/**
 * Throws InvariantError unless the condition holds. `law` is a constant text that says what always
 * holds. The check costs one comparison, so it stays on in production.
 */
export function assert(condition: boolean, law: string): asserts condition {
  if (!condition) throw new InvariantError(law);
}
