/** A planted mistake: a line of a shell, changed so that it no longer does what it is there for. */
export type Mutant = {
  /** The file of the line, from the root of the repository. */
  readonly place: string;
  /** The text as it is. It stands exactly once in the file. */
  readonly from: string;
  /** The text of the mistake. */
  readonly to: string;
  /** The consequence for a cluster, as an ending of "then …". */
  readonly means: string;
  /** The test files that must notice it: a path, or the beginning of one. */
  readonly tests: string;
  /** A pattern of the names of the tests that must notice it. Absent: any of them may. */
  readonly named?: string;
};
