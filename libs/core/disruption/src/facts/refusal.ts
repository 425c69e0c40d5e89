import type { DisruptionCode, Reason } from '@dovetail/core-scheduling';

/**
 * The reason why a node is changed or not: a code for machines, the compared values, and a
 * sentence.
 */
export type DisruptionNote = Reason & { readonly code: DisruptionCode };

/** Builds a note. Numbers become text, because notes travel in messages. */
export function note(
  code: DisruptionCode,
  message: string,
  values: Readonly<Record<string, string | number>> = {},
): DisruptionNote {
  return {
    code,
    message,
    values: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)])),
  };
}
