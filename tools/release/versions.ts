// The places that name the version. The repository's package.json decides it; all others repeat it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { trackedFiles } from '../workspace.js';

const root = join(import.meta.dirname, '..', '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Files that name the version, and the text around it. */
type Place = { readonly files: readonly string[]; readonly version: RegExp };

const number = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?`;
const after = (lead: string): RegExp => new RegExp(`(?<=${lead})${number}`, 'gm');

const places: readonly Place[] = [
  { files: ['package.json', '*/package.json'], version: after('^ {2}"version": "') },
  { files: ['deploy/helm/*/Chart.yaml'], version: after('^(?:v|appV)ersion: ') },
  { files: ['deploy/docker/Dockerfile'], version: after('^ARG VERSION=') },
  {
    files: ['libs/runtime/src/version.ts', 'apps/cli/src/program.ts'],
    version: after("^(?:export )?const version = '"),
  },
  { files: ['docs/guides/*.md'], version: after('/dovetail:|image\\.tag=') },
];

/** The versions that a place's text names, in its order. */
const versionsIn = (text: string, { version }: Pick<Place, 'version'>): readonly string[] =>
  [...text.matchAll(version)].map(([found]) => found);

/** A file that names the version, once or more often. */
export type VersionFile = { readonly file: string; readonly place: Place };

/** All files of the repository that may name the version. */
export const versionFiles = (): readonly VersionFile[] =>
  places.flatMap((place) => trackedFiles(...place.files).map((file) => ({ file, place })));

type Locked = {
  readonly version: string;
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
};

const isOurs = ([folder, { version }]: readonly [string, { readonly version?: string }]): boolean =>
  !folder.includes('node_modules') && version !== undefined;

/** The versions that the lock file has of this repository's packages. */
export function lockedVersions(lock: string): readonly string[] {
  const { version, packages } = JSON.parse(lock) as Locked;
  const ours = Object.entries(packages).filter(isOurs);
  return [version, ...ours.flatMap(([, entry]) => entry.version ?? [])];
}

/** The lock file with this version of each package of the repository. */
export function lockedAs(lock: string, version: string): string {
  const parsed = JSON.parse(lock) as Locked;
  const packages = Object.fromEntries(
    Object.entries(parsed.packages).map((entry) => [
      entry[0],
      isOurs(entry) ? { ...entry[1], version } : entry[1],
    ]),
  );
  return `${JSON.stringify({ ...parsed, version, packages }, undefined, 2)}\n`;
}

/** Lines `file: version` of all places that name another version than this one. */
export const otherVersions = (wanted: string): readonly string[] =>
  [
    ...versionFiles().map(({ file, place }) => ({
      file,
      versions: versionsIn(textOf(file), place),
    })),
    { file: 'package-lock.json', versions: lockedVersions(textOf('package-lock.json')) },
  ].flatMap(({ file, versions }) =>
    versions.filter((version) => version !== wanted).map((version) => `${file}: ${version}`),
  );
