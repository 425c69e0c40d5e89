/** A variable that the lab engine always sets for its roles. */
export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: this role is started by the lab, see make lab`);
  return value;
}
