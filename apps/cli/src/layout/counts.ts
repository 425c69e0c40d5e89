/** A number of things: `1 node`, `2 nodes`. */
export const countText = (count: number, one: string): string =>
  `${String(count)} ${one}${count === 1 ? '' : 's'}`;
