/**
 * What the leader's Lease says of the open round, written under resourceVersion before anything of
 * the round is done: the fence. A successor reads it to know which plans were being judged, and
 * voids what of them has no claim.
 */
export type OpenRound = { readonly number: number; readonly planIds: readonly string[] };

export const renderRound = (round: OpenRound): string =>
  JSON.stringify({ number: round.number, planIds: round.planIds });

/** Undefined when nothing was written yet, or it is not ours to read. */
export function parseRound(text: string): OpenRound | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { number, planIds } = value as { number?: unknown; planIds?: unknown };
  if (typeof number !== 'number' || !Array.isArray(planIds)) return undefined;
  return { number, planIds: planIds.filter((id): id is string => typeof id === 'string') };
}
