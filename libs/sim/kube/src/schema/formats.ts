import { lookUp } from '@dovetail/core-invariant';

const isInt =
  (bits: number) =>
  (value: string): boolean =>
    /^-?\d+$/.test(value) && Math.abs(Number(value)) <= 2 ** (bits - 1);

const checks: Readonly<Record<string, (value: string) => boolean>> = {
  'date-time': (value) =>
    /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
  duration: (value) => /^[-+]?(\d+(\.\d+)?\s*(ns|us|\u00b5s|ms|s|m|h|d|w)\s*)+$/.test(value),
  uuid: (value) =>
    /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  ipv4: (value) =>
    /^(\d{1,3}\.){3}\d{1,3}$/.test(value) && value.split('.').every((part) => Number(part) < 256),
  byte: (value) => /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0,
  email: (value) => /^[^@\s]+@[^@\s]+$/.test(value),
  uri: (value) => /^[a-z][a-z0-9+.-]*:/i.test(value),
  int32: isInt(32),
  int64: isInt(64),
};

/**
 * Why a text does not have the format. Undefined when it does, or when Kubernetes does not check
 * the format.
 */
export function formatProblem(format: string, value: string): string | undefined {
  const check = lookUp(checks, format);
  return check === undefined || check(value)
    ? undefined
    : `must be of type ${format}: ${JSON.stringify(value)}`;
}
