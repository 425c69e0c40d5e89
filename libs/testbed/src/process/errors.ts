/** A failure of the testbed: what failed, the last lines of the part, and the remedy. */
export type FailureReport = {
  readonly failed: string;
  readonly remedy: string;
  /** The last lines of the part's log or of the command's output. */
  readonly lastLines?: string;
};

/**
 * An outside part could not be obtained, started, reached or stopped. The message is for the user.
 */
export class TestbedError extends Error {
  override readonly name = 'TestbedError';
  readonly remedy: string;

  constructor(report: FailureReport, options?: ErrorOptions) {
    const lines = report.lastLines?.trim();
    super(
      [report.failed, ...(lines ? [indent(lines)] : []), `Remedy: ${report.remedy}`].join('\n'),
      options,
    );
    this.remedy = report.remedy;
  }
}

/**
 * The code of a system error, such as ENOENT. It does without `instanceof Error`, because under
 * Jest the errors of Node's own modules come from another realm.
 */
export const codeOf = (thrown: unknown): unknown =>
  typeof thrown === 'object' && thrown !== null && 'code' in thrown ? thrown.code : undefined;

const indent = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => `  | ${line}`)
    .join('\n');
