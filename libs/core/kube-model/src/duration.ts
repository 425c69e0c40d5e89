import { lookUp, present } from '@dovetail/core-invariant';

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
// Escaped, because one letter outside of ASCII doubles the memory of a whole bundle's source.
const whole = /^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$/;
const part = /([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g;

/** Go counts nanoseconds in 63 bits, and refuses what is longer: some 292 years. */
const longestMs = 2 ** 63 / 1e6;

/**
 * Reads a Go duration (`336h`, `1h30m`, `1.5h`, `0`) in milliseconds, rounded. Undefined when the
 * text is none, or longer than Go can count. The syntax is that of Go's time.ParseDuration, which
 * Karpenter's fields use.
 */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0' || text === '+0' || text === '-0') return 0;
  if (!whole.test(text)) return undefined;
  let total = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(part))
    total += Number(amount) * present(lookUp(unitMs, unit), 'the pattern names known units only');
  if (total > longestMs) return undefined;
  const ms = Math.round(total);
  return text.startsWith('-') && ms !== 0 ? -ms : ms;
}

/**
 * Writes milliseconds as Go-style text of hours, minutes and seconds: `336h`, `1h30m`, `30s`.
 * Reading the text gives the same duration back. A negative one, which two clocks can produce, is
 * `0s`.
 */
export function formatDuration(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = (ms % 60_000) / 1000;
  const text = `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${seconds > 0 ? `${seconds}s` : ''}`;
  return text === '' ? '0s' : text;
}
