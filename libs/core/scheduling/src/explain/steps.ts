import type { Offer } from '../model/templates.js';

/** The names of the types that offers are of. */
export const typeNames = (offers: readonly Offer[]): ReadonlySet<string> =>
  new Set(offers.map(({ type }) => type.type.name));

/** One constraint after the other, and how many types fell at each. */
export type Step = { readonly what: string; readonly fell: number; readonly of: number };
/** The steps at which types fell, for a sentence. */
export const stepsText = (steps: readonly Step[]): string =>
  steps
    .filter((step) => step.fell > 0)
    .map(({ what, fell, of }) => `${what} ${fell} of ${of}`)
    .join(', ');
/** The steps before the last, for a sentence. */
export const before = (steps: readonly Step[]): string =>
  steps.some((step) => step.fell > 0) ? ` (types that fell before: ${stepsText(steps)})` : '';
