// Makes each package's `dependencies` equal to its imports, so that the graph, npm and a reader see
// the same edges.
// Usage: tsx tools/declare.ts [--check]   (without --check it rewrites the package.json files)
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  importsOf,
  isTest,
  manifestAt,
  packageOf,
  type WorkspacePackage,
  workspacePackages,
} from './workspace.js';

type Versions = Readonly<Record<string, string>>;
type Declared = { readonly dependencies: Versions; readonly devDependencies: Versions };

const root = manifestAt('package.json');
const packages = workspacePackages();
const inWorkspace = new Set(packages.map(({ name }) => name));
/**
 * Every version that some package states already. One package has one version in the whole tree.
 */
const versions = new Map<string, string>(
  [root, ...packages.map(({ manifest }) => manifest)].flatMap((manifest) =>
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }),
  ),
);
/** Tools that every package's tests and checks share are declared once, at the root. */
const shared = new Set(Object.keys(root.devDependencies ?? {}));

function versionOf(name: string, folder: string): string {
  if (inWorkspace.has(name)) return '*';
  const version = versions.get(name);
  if (version !== undefined) return version;
  throw new Error(
    `${folder} imports ${name}, which is not installed: npm install -E ${name} -w ${folder}`,
  );
}

/** The dependencies that a package's imports ask for, in order of name. */
function declaredBy({ folder, name: own, files }: WorkspacePackage): Declared {
  const used = (test: boolean): readonly string[] =>
    files
      .filter((file) => isTest(file) === test)
      .flatMap(importsOf)
      .flatMap((specifier) => packageOf(specifier) ?? [])
      .filter((name) => name !== own && !shared.has(name));
  const runs = new Set(used(false));
  const tests = new Set(used(true).filter((name) => !runs.has(name)));
  const listed = (names: ReadonlySet<string>): Versions =>
    Object.fromEntries([...names].toSorted().map((name) => [name, versionOf(name, folder)]));
  return { dependencies: listed(runs), devDependencies: listed(tests) };
}

/** The manifest with these dependencies, before its `nx` part. Empty lists are left out. */
function withDeclared(text: string, declared: Declared): string {
  const {
    dependencies: _runs,
    devDependencies: _tests,
    nx,
    ...rest
  } = JSON.parse(text) as Record<string, unknown>;
  const filled = Object.entries(declared).filter(([, list]) => Object.keys(list).length > 0);
  return JSON.stringify({ ...rest, ...Object.fromEntries(filled), nx }, undefined, 2);
}

const checkOnly = process.argv.includes('--check');
const differing = packages.filter((each) => {
  const path = join(each.folder, 'package.json');
  const text = readFileSync(path, 'utf8');
  const wanted = withDeclared(text, declaredBy(each));
  const same = wanted === JSON.stringify(JSON.parse(text), undefined, 2);
  if (!same && !checkOnly) writeFileSync(path, `${wanted}\n`);
  return !same;
});
if (checkOnly && differing.length > 0) {
  const names = differing.map(({ folder }) => `${folder}/package.json`).join(', ');
  process.stderr.write(`dependencies differ from imports in ${names}: run npm run declare\n`);
  process.exitCode = 1;
} else process.stdout.write(`${differing.length} of ${packages.length} manifests changed\n`);
