import { lookUp } from '@dovetail/core-invariant';

/** A variable that the lab sets for its roles. Throws when it is not set. */
export function required(name: string): string {
  const value = lookUp(process.env, name);
  if (value === undefined || value === '')
    throw new Error(`${name} is not set: the lab starts this role; run make lab`);
  return value;
}
