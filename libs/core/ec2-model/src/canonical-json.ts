import { compareText } from '@dovetail/core-kube-model';

/**
 * Writes JSON whose text depends on the value alone: keys in code-unit order, no absent fields, no
 * spaces. Equal values give equal text, so its hash can name them. Throws TypeError for a value
 * that JSON cannot express exactly.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => compareText(a, b));
    return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join(',')}}`;
  }
  throw new TypeError(
    `a value of type ${typeof value} that is not finite JSON has no canonical text`,
  );
}
