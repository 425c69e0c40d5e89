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
