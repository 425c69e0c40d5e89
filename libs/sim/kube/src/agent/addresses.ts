/** An address in 10.0.0.0/8 that follows from a text; equal texts have equal ones. */
export function addressesFrom(text: string): string {
  let hash = 0x811c9dc5;
  for (const letter of text)
    hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return `10.${(hash >>> 16) & 255}.${(hash >>> 8) & 255}.${1 + ((hash & 255) % 254)}`;
}
