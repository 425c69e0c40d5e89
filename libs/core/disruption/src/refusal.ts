import type { DisruptionCode, Reason } from '@dovetail/core-scheduling';

/** Why something is, or is not, done to a node: a code for machines, the values that were compared, and one sentence. */
export type DisruptionNote = Reason & { readonly code: DisruptionCode };

/** Builds a note; numbers are written as text, because notes travel. */
export function note(code: DisruptionCode, message: string, values: Readonly<Record<string, string | number>> = {}): DisruptionNote {
  return { code, message, values: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)])) };
}

/** Code-unit order: the same on every machine, whatever its locale. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
