// Libraries from Debian's own packages, on any machine that has apt: also on Ubuntu.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { Architecture } from './layout.js';
import { run, RuntimeUnavailable } from './obtain.js';

/** Debian's release that the libraries are of; the distroless base of the Dockerfile is of it. */
export const debianRelease = 'bookworm';
/** The libraries of Node.js, the package that holds their licences, and the frame of a Debian. */
const debianPackages = ['base-files', 'libc6', 'gcc-12-base', 'libgcc-s1', 'libstdc++6'];

/** Where Debian's packages are, and the keys that sign their lists. */
export type DebianSource = {
  /** The address above `debian` and `debian-security`: `http://deb.debian.org`. */
  readonly mirror: string;
  /** The file of keys of the package `debian-archive-keyring`. */
  readonly keyring: string;
};

/** Debian's own server, unless DEBIAN_MIRROR names another. */
const debianSource = (): DebianSource => ({
  mirror: process.env['DEBIAN_MIRROR'] ?? 'http://deb.debian.org',
  keyring: '/usr/share/keyrings/debian-archive-keyring.gpg',
});

/** The lines of sources.list: the release, its updates, and its security updates. */
export const sourcesOf = ({ mirror, keyring }: DebianSource): string =>
  [
    ['debian', debianRelease],
    ['debian', `${debianRelease}-updates`],
    ['debian-security', `${debianRelease}-security`],
  ]
    .map(([path, suite]) => `deb [signed-by=${keyring}] ${mirror}/${path} ${suite} main\n`)
    .join('');

/**
 * The settings by which apt works in the folder `state` for another architecture. Neither sources
 * nor lists nor preferences of the machine count, and they stay as they are.
 */
export const aptSettings = (
  architecture: Architecture,
  state: string,
): Readonly<Record<string, string>> => ({
  'Dir::Etc::sourcelist': join(state, 'sources.list'),
  'Dir::Etc::sourceparts': '/dev/null',
  'Dir::Etc::preferences': '/dev/null',
  'Dir::Etc::preferencesparts': '/dev/null',
  'Dir::State': join(state, 'state'),
  'Dir::State::status': '/dev/null',
  'Dir::Cache': join(state, 'cache'),
  'APT::Architecture': architecture,
  'APT::Architectures': architecture,
  'APT::Default-Release': '',
  'APT::Sandbox::User': 'root',
  'Acquire::Languages': 'none',
});

/** Downloads the packages of an architecture into the folder. Throws RuntimeUnavailable. */
export function fetchDebian(
  architecture: Architecture,
  folder: string,
  source: DebianSource = debianSource(),
): void {
  if (!existsSync(source.keyring))
    throw new RuntimeUnavailable(
      `${source.keyring} is missing, by which Debian's packages are checked: install debian-archive-keyring, which Ubuntu has, too`,
    );
  const state = resolve(folder, 'apt');
  for (const part of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, part), { recursive: true });
  writeFileSync(join(state, 'sources.list'), sourcesOf(source));
  const options = Object.entries(aptSettings(architecture, state)).flatMap(([name, value]) => [
    '-o',
    `${name}=${value}`,
  ]);
  const remedy = `make ${source.mirror} reachable, or name another mirror of Debian in DEBIAN_MIRROR`;
  run('apt-get', ['-qq', ...options, 'update'], folder, remedy);
  run('apt-get', ['-qq', ...options, 'download', ...debianPackages], folder, remedy);
  rmSync(state, { recursive: true });
}
