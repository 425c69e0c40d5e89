import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Whether `openssl` is on PATH, with which `makeCertificate` works. */
export function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes `<name>.key` and `<name>.crt` in the folder, for two days: an authority, or a certificate
 * for localhost that the authority `signer` of the same folder signs. Throws without `openssl`.
 */
export function makeCertificate(dir: string, name: string, signer?: string): void {
  const at = (file: string): string => join(dir, file);
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const names = signer === undefined ? [] : ['-addext', 'subjectAltName=DNS:localhost'];
  const signed =
    signer === undefined ? [] : ['-CA', at(`${signer}.crt`), '-CAkey', at(`${signer}.key`)];
  const out = ['-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)];
  execFileSync('openssl', ['req', '-x509', ...made, ...names, ...signed, ...out], {
    stdio: 'pipe',
  });
}
