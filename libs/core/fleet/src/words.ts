/** Words and shares for terminals and pages. They need nothing else of this library. */

/** A number of things: `1 node`, `2 nodes`. The plural must end in `s`. */
export const countText = (count: number, one: string): string =>
  `${String(count)} ${one}${count === 1 ? '' : 's'}`;

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** A period as people say it, by its two greatest units: `3d 4h`, `2m`, `0s`. */
export function periodText(ms: number): string {
  const first = units.findIndex(([, size]) => ms >= size);
  if (first < 0) return '0s';
  let left = ms;
  const parts = units.slice(first, first + 2).flatMap(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [`${String(count)}${unit}`];
  });
  return parts.join(' ');
}

/** The next thing that happens to a node. */
export type NextStep = {
  /** For people, without the time: `expires`. */
  readonly what: string;
  /** When it happens, if that is known: milliseconds since 1970. */
  readonly atMs?: number;
};

/** A step with its time, if it has one: `expires in 2h`, `empty: ends now`, `becomes ready`. */
export function stepText({ what, atMs }: NextStep, nowMs: number): string {
  if (atMs === undefined) return what;
  return atMs <= nowMs ? `${what} now` : `${what} in ${periodText(atMs - nowMs)}`;
}

/** The pods' requests of what a node can give: `cpu` in millicores, memory in bytes. */
export type Fill = { readonly requested: number; readonly allocatable: number };

/** The share of what a node can give that is requested, from 0 on. */
export const shareOf = ({ requested, allocatable }: Fill): number =>
  allocatable === 0 ? 0 : requested / allocatable;

/** Several nodes together. */
export const sumOfFills = (fills: readonly Fill[]): Fill =>
  fills.reduce<Fill>(
    (sum, one) => ({
      requested: sum.requested + one.requested,
      allocatable: sum.allocatable + one.allocatable,
    }),
    { requested: 0, allocatable: 0 },
  );

/** Micro-dollars an hour as people read them: `$0.3080/h`. */
export const dollarsText = (micros: number): string =>
  `${micros < 0 ? '-' : ''}$${(Math.abs(micros) / 1e6).toFixed(4)}/h`;

/** A fact of a decision for people: its name, and its values, a line each. */
export type FactWords = { readonly name: string; readonly values: readonly string[] };

/** The end of the names of facts that are micro-dollars an hour. */
const microsPerHour = 'MicrosPerHour';

/**
 * The facts of a decision for people, without empty ones. Prices are in dollars, and their names
 * have no unit. A command has its price after beside the one before, and its moves one by one.
 */
export function factsWords(facts: Readonly<Record<string, string>>): readonly FactWords[] {
  return Object.entries(facts)
    .filter(([, value]) => value !== '')
    .flatMap(([name, value]) => {
      if (name === 'moves') return [{ name, values: movesOf(value, Number(facts['pods'])) }];
      if (!name.endsWith(microsPerHour) || !isWhole(value)) return [{ name, values: [value] }];
      const price = (key: string, micros: number): FactWords => ({
        name: key.slice(0, -microsPerHour.length),
        values: [dollarsText(micros)],
      });
      const saved = facts[`saved${microsPerHour}`] ?? '';
      const after =
        name === `priceBefore${microsPerHour}` && isWhole(saved)
          ? [price(`priceAfter${microsPerHour}`, Number(value) - Number(saved))]
          : [];
      return [price(name, Number(value)), ...after];
    });
}

const isWhole = (text: string): boolean => /^-?\d+$/.test(text);

/** The moves of a command, and how many more there are. */
function movesOf(text: string, pods: number): readonly string[] {
  const listed = text.split('; ');
  return pods > listed.length ? [...listed, `and ${String(pods - listed.length)} more`] : listed;
}
