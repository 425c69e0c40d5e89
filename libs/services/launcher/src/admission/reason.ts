import type { Reason, ReasonCode } from '@dovetail/core-scheduling';

/** A refusal, or any other "no", with the values that were compared. */
export function reason(
  code: ReasonCode,
  message: string,
  values: Readonly<Record<string, string | number>>,
  more: { readonly subject?: string; readonly remedy?: string } = {},
): Reason {
  const texts = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, String(value)]),
  );
  return { code, message, values: texts, ...more };
}
