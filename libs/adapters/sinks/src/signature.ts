import { createHmac } from 'node:crypto';

const prefix = 'whsec_';

/** A key has at least as many bytes: the least that Standard Webhooks asks for. */
const keyBytesMin = 24;

/** Whether the text is a key: base64 of at least 24 bytes, with or without `whsec_` before it. */
export function isSigningKey(text: string): boolean {
  const encoded = encodedOf(text);
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && keyOf(text).length >= keyBytesMin;
}

/** A message that is to be signed. */
export type Signed = { readonly id: string; readonly atMs: number; readonly body: string };

/**
 * The headers of Standard Webhooks: id, time of the attempt in seconds, and `v1,` with the base64
 * of HMAC-SHA256 over `id.time.body`. Libraries of many languages check them.
 */
export function signatureHeaders(
  key: string,
  { id, atMs, body }: Signed,
): Readonly<Record<string, string>> {
  const seconds = String(Math.floor(atMs / 1_000));
  const mac = createHmac('sha256', keyOf(key)).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}

const encodedOf = (text: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;
const keyOf = (text: string): Buffer => Buffer.from(encodedOf(text), 'base64');
