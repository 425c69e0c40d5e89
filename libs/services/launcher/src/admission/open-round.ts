/**
 * The open round in the leader's Lease. The leader writes it under resourceVersion before it acts
 * on the round: the fence. A successor reads which plans were being judged, and voids the bins of
 * them that have no claim.
 */
export type OpenRound = { readonly number: number; readonly planIds: readonly string[] };

/** The round as the text that `parseRound` reads. */
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
