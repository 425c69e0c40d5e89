/**
 * Compares by UTF-16 code units, for sorts whose result others compare: it is the same on every
 * machine, whatever its locale. Answers -1, 0 or 1.
 */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
