import { isIP } from 'node:net';

/** Reads an absolute URL, such as an API server's. The reader throws Error with the remedy. */
export function absoluteUrl(given: string): string {
  if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)) return given;
  throw new Error('give an absolute URL, such as https://10.0.0.1:443');
}

/**
 * Reads CA certificates, as PEM or as base64 of it, and answers base64. The reader throws Error
 * with the remedy.
 */
export function caBundle(given: string): string {
  const base64 = isPem(given) ? Buffer.from(given).toString('base64') : given;
  const isBase64 = /^[0-9A-Za-z+/]+={0,2}$/.test(base64);
  if (isBase64 && isPem(Buffer.from(base64, 'base64').toString('latin1'))) return base64;
  throw new Error(
    'give the certificates as PEM, or as base64 of it, such as certificate-authority-data of a kubeconfig',
  );
}

const isPem = (text: string): boolean => text.trimStart().startsWith('-----BEGIN CERTIFICATE-----');

/** Reads a block of addresses, of IPv4 or IPv6. The reader throws Error with the remedy. */
export function cidrBlock(given: string): string {
  const [address = '', prefix = '', ...rest] = given.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (rest.length === 0 && /^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bits) return given;
  throw new Error('give a block of addresses, such as 172.20.0.0/16 or fd00::/108');
}

/** Reads a share, such as 0.075 for 7.5 %. The reader throws Error with the remedy. */
export function shareBelowOne(given: string): number {
  const value = Number(given);
  if (/^[0-9]*\.?[0-9]+$/.test(given) && value >= 0 && value < 1) return value;
  throw new Error('give a number from 0 to less than 1, such as 0.075 for 7.5 %');
}
