/** A number with its noun: `1 pod`, `3 pods`. The noun's plural must end in `s`. */
export const countText = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;
