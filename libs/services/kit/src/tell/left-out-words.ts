import { poolKey } from '@dovetail/core-api';
import type { LeftOut } from '@dovetail/core-cluster';
import type { LogFields } from '@dovetail/core-ports';

/** The words about a type that is left out of `what` of a pool, such as its launches. */
export function leftOutWords(
  { claim, instanceType, untilMs }: LeftOut,
  what: string,
  nowMs: number,
): { readonly message: string; readonly fields: LogFields } {
  const minutes = Math.ceil((untilMs - nowMs) / 60_000);
  const pool = poolKey(claim.pool);
  return {
    message: `${instanceType} is left out of the ${what} of ${pool} for ${String(minutes)} min: ${claim.name} did not become usable`,
    fields: { claim: claim.name, pool, type: instanceType, minutes },
  };
}
