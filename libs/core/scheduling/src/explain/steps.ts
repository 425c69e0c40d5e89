import type { Offer } from '../model/templates.js';

/** Returns the names of the offers' types. */
export const typeNames = (offers: readonly Offer[]): ReadonlySet<string> =>
  new Set(offers.map(({ type }) => type.type.name));

/** One check, and how many of the types before it are excluded by it. */
export type Step = { readonly what: string; readonly fell: number; readonly of: number };
/** Lists the steps that exclude types, for use in a sentence. */
export const stepsText = (steps: readonly Step[]): string =>
  steps
    .filter((step) => step.fell > 0)
    .map(({ what, fell, of }) => `${what} ${fell} of ${of}`)
    .join(', ');
/** Lists earlier steps in brackets, for use at the end of a sentence. */
export const before = (steps: readonly Step[]): string =>
  steps.some((step) => step.fell > 0) ? ` (types excluded before: ${stepsText(steps)})` : '';
