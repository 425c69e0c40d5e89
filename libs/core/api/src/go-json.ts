import { lookUp } from '@dovetail/core-invariant';
import { compareText, isRecord } from '@dovetail/core-kube-model';

/** The characters that Go's encoder writes as escapes, so that the text is safe inside HTML. */
const escaped = /[<>&\u2028\u2029]/g;
const escapeOf = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Writes a value as Go's `encoding/json` does: keys sorted, without spaces. Whole numbers and texts
 * are all that Karpenter's kubelet settings hold beside flags.
 */
export function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (isRecord(value))
    return `{${Object.keys(value)
      .sort(compareText)
      .map((key) => `${goJson(key)}:${goJson(lookUp(value, key))}`)
      .join(',')}}`;
  return JSON.stringify(value ?? null).replace(escaped, escapeOf);
}
