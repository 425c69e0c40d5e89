/**
 * A law of the code does not hold: a bug, never bad input. No caller recovers from it: a service
 * ends with it, loudly, because going on would act on a state that the code calls impossible.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/**
 * States a law where it must hold. It costs one comparison, so it stays on in production; `law` is
 * a constant text that says what always holds. Throws InvariantError.
 */
export function assert(condition: boolean, law: string): asserts condition {
  if (!condition) throw new InvariantError(law);
}
