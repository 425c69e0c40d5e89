// The digests of a release, and a signature of them by a key that is thrown away.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { LeftOut } from './outcome.js';

/** The file of digests, in the form that `sha256sum --check` reads. */
const sumsName = 'SHA256SUMS';

/** Writes the digests of all files of the folder, beside them. */
export function writeSums(folder: string): string {
  const files = readdirSync(folder)
    .filter((name) => name !== sumsName && statSync(join(folder, name)).isFile())
    .toSorted();
  if (files.length === 0) throw new Error(`${folder} holds no file to sign`);
  const sums = files.map((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    return `${digest}  ${name}\n`;
  });
  writeFileSync(join(folder, sumsName), sums.join(''));
  return `${join(folder, sumsName)} has the digests of ${files.join(', ')}`;
}

/**
 * Signs the digests by cosign with a new key, and verifies that. A release signs with the identity
 * of its workflow instead, and tells a public log; neither can be tried here.
 */
export function signAndVerify(folder: string): string {
  if (spawnSync('cosign', ['version']).status !== 0)
    throw new LeftOut('cosign is not on PATH: install it to try a signature with a key of its own');
  const scratch = mkdtempSync(join(tmpdir(), 'dovetail-signing-'));
  const cosign = (...args: readonly string[]): string =>
    execFileSync('cosign', args, {
      cwd: scratch,
      encoding: 'utf8',
      stdio: 'pipe',
      env: { ...process.env, COSIGN_PASSWORD: '' },
    });
  try {
    const sums = join(process.cwd(), folder, sumsName);
    cosign('generate-key-pair');
    const signed = ['--key', 'cosign.key', '--tlog-upload=false', '--yes'];
    cosign('sign-blob', ...signed, '--output-signature', 'sums.sig', sums);
    const asked = ['--key', 'cosign.pub', '--insecure-ignore-tlog=true'];
    cosign('verify-blob', ...asked, '--signature', 'sums.sig', sums);
    return 'cosign signed and verified the digests with a key that is gone now';
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
