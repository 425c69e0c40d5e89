const unitMs: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, 'µs': 1e-3, 'μs': 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const whole = /^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const part = /([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)/g;

/** A Go duration (`336h`, `1h30m`, `1.5h`, `0`) in milliseconds, rounded; undefined when the text is none. */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0' || text === '+0' || text === '-0') return 0;
  if (!whole.test(text)) return undefined;
  let total = 0;
  for (const [, amount = '', unit = ''] of text.matchAll(part)) total += Number(amount) * (unitMs[unit] ?? 0);
  const ms = Math.round(total);
  return text.startsWith('-') && ms !== 0 ? -ms : ms;
}

/** Milliseconds as the shortest exact Go-style text of hours, minutes and seconds: `336h`, `1h30m`, `30s`. */
export function formatDuration(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = (ms % 60_000) / 1000;
  const text = `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${seconds > 0 ? `${seconds}s` : ''}`;
  return text === '' ? '0s' : text;
}
