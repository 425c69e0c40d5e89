import type { Pool } from '@dovetail/core-api';

/**
 * Whether a change of a pool touches nothing but its status. The launcher writes the status with
 * each burst of claims, and what follows from a pool's spec stays as it is for all its claims.
 */
export const isStatusChange = ({
  before,
  after,
}: {
  readonly before?: Pool;
  readonly after?: Pool;
}): boolean =>
  before !== undefined &&
  after !== undefined &&
  before.generation === after.generation &&
  before.deletionMs === after.deletionMs;
