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
