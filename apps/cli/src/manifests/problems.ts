import { InputError } from './input-error.js';

/** The kinds of problems of the input. The words are a contract: `-o json` has them. */
export type ProblemCode =
  /** The object cannot be read, and is left out. */
  | 'unreadable'
  /** The object can be read, and is left out because of another one or of what it asks for. */
  | 'left-out'
  /** The kind has no such field. The field changes nothing, here or in a cluster. */
  | 'unknown-field'
  /** There is no such kind. The object is left out. */
  | 'unknown-kind';

/** A problem of the input, in the form of `-o json`: what it is, and where. */
export type Problem = {
  readonly code: ProblemCode;
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  /** The path of the field within its document. */
  readonly field?: string;
  /** The value and the remedy. */
  readonly message: string;
};

/** The most problems that are shown to people; the whole list is in `-o json`. */
const shownMax = 40;

/** The error that says a problem. */
export const errorOf = ({ file, line, field, message }: Problem): InputError =>
  new InputError(message, {
    ...(file === undefined ? {} : { place: { file, ...(line === undefined ? {} : { line }) } }),
    ...(field === undefined ? {} : { field }),
  });

/** A problem as a line of text, in the form of compilers. */
const textOf = (problem: Problem): string =>
  `${problem.code === 'unreadable' ? 'dovetail' : 'warning'}: ${errorOf(problem).text}`;

/** Collects the problems of the input, so that reading goes on after an object that it refuses. */
export class Problems {
  readonly all: Problem[] = [];

  /** The first problem for which an object was left out. */
  get leftOut(): Problem | undefined {
    return this.all.find(({ code }) => code !== 'unknown-field');
  }

  /** Adds an error as a problem. */
  add(code: ProblemCode, { message, place, field }: InputError): void {
    this.all.push({ code, ...place, ...(field === undefined ? {} : { field }), message });
  }

  /** Reads something. Input that cannot be read becomes a problem, and undefined. */
  async reading<T>(read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      this.add('unreadable', error);
      return undefined;
    }
  }

  /** The problems as lines for people. */
  lines(): readonly string[] {
    const shown = this.all.slice(0, shownMax).map(textOf);
    const more = this.all.length - shown.length;
    return more === 0 ? shown : [...shown, `warning: … and ${more} more; -o json has them all`];
  }
}
