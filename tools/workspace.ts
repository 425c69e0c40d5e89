// The packages of this repository and what they import, read from the sources themselves.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';

import ts from 'typescript';

type Versions = Readonly<Record<string, string>>;

/** The parts of a package.json that the tools read. */
export type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
};

/** One package of the workspace; paths are relative to the repository's root. */
export type WorkspacePackage = {
  readonly name: string;
  readonly folder: string;
  readonly manifest: Manifest;
  /** TypeScript sources with tests, without generated ones and without those of packages within. */
  readonly files: readonly string[];
};

const root = join(import.meta.dirname, '..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Files that git tracks or would track, by pathspec. */
export const trackedFiles = (...patterns: readonly string[]): readonly string[] =>
  execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns],
    { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 },
  )
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)));

/** The parsed package.json at `path`. */
export const manifestAt = (path: string): Manifest => JSON.parse(textOf(path)) as Manifest;

/** Every package of the workspace, by folder. */
export function workspacePackages(): readonly WorkspacePackage[] {
  const found = trackedFiles('*/package.json')
    .map((path) => ({ folder: dirname(path), manifest: manifestAt(path) }))
    .filter(({ manifest }) => manifest.name?.startsWith('@dovetail/'));
  const folders = found.map(({ folder }) => folder).toSorted((a, b) => b.length - a.length);
  const homeOf = (file: string): string | undefined =>
    folders.find((folder) => file.startsWith(`${folder}/`));
  const sources = new Map<string, string[]>(folders.map((folder) => [folder, []]));
  for (const file of trackedFiles('*.ts', '*.tsx')) sources.get(homeOf(file) ?? '')?.push(file);
  return found.map(({ folder, manifest }) => ({
    name: manifest.name,
    folder,
    manifest,
    files: sources.get(folder) ?? [],
  }));
}

/** True for tests and for the code that only tests use. */
export const isTest = (file: string): boolean =>
  /\.test\.ts$|\/testing\//.test(file) || file.startsWith('tests/');

/** The specifiers that a file imports or re-exports from, types included. */
export const importsOf = (file: string): readonly string[] =>
  ts.preProcessFile(textOf(file), true, true).importedFiles.map(({ fileName }) => fileName);

/**
 * `@scope/name/deep` and `name/deep` without the part after the package's name; undefined for files
 * and Node.js' own modules.
 */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  const words = specifier.split('/');
  const name = specifier.startsWith('@') ? words.slice(0, 2).join('/') : (words[0] ?? '');
  return builtinModules.includes(name) ? undefined : name;
}
