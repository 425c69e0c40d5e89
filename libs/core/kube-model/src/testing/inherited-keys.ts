/**
 * Keys that every plain object answers to without holding them. Kubernetes takes the first four for
 * labels, annotations and topology keys, and AWS takes all of them for tags.
 */
export const inheritedKeys = [
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '__proto__',
] as const;
