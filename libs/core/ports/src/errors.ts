/**
 * The message of an error, or the text of any other thrown value. An error of another realm counts
 * too: under Jest, those of Node's own modules are not `instanceof Error`.
 */
export const messageOf = (thrown: unknown): string =>
  typeof thrown === 'object' && thrown !== null && 'message' in thrown
    ? String(thrown.message)
    : String(thrown);

/** The stack of an error, for a log; without one, its message. */
export const stackOf = (thrown: unknown): string =>
  thrown instanceof Error && thrown.stack !== undefined ? thrown.stack : messageOf(thrown);
