// Makes an installable package from a library of this repository, the contracts or the client, or
// from the built command (apps/cli).
// Usage: tsx tools/pack.ts FOLDER   (the result is dist/packages/<last part of the name>; `npm
// pack` it, or publish it)
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { build } from 'esbuild';

import { packCommand } from './pack-command.js';
import {
  importsOf,
  isTest,
  packageOf,
  type WorkspacePackage,
  workspacePackages,
} from './workspace.js';

/** The libraries that others may install: each published entry, and its source. */
const installable: Readonly<Record<string, { readonly entry: string; readonly source: string }>> = {
  'libs/contracts': { entry: '.', source: 'src/index.ts' },
  'libs/client': { entry: '.', source: 'src/index.ts' },
};

const packages = workspacePackages();
const byName = new Map(packages.map((each) => [each.name, each]));

/**
 * The packages of this repository that another one needs, itself first. Those that are installable
 * on their own are apart.
 */
function withinOf(start: WorkspacePackage): readonly WorkspacePackage[] {
  const found = new Map([[start.name, start]]);
  for (const { manifest } of found.values())
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const next = byName.get(name);
      if (next !== undefined && installable[next.folder] === undefined) found.set(name, next);
    }
  return [...found.values()];
}

/**
 * Packages for npm to install beside it: outside ones, and our installable ones in the same
 * version.
 */
function dependenciesOf(
  within: readonly WorkspacePackage[],
  bundle: string,
  version: string,
): Readonly<Record<string, string>> {
  const versions = Object.assign(
    {},
    ...within.map(({ manifest }) => manifest.dependencies),
  ) as Record<string, string>;
  const used = new Set(importsOf(bundle).flatMap((specifier) => packageOf(specifier) ?? []));
  return Object.fromEntries(
    [...used]
      .toSorted()
      .map((name) => [name, byName.has(name) ? version : (versions[name] ?? '*')]),
  );
}

/**
 * Type declarations of the package and of all that it needs, with paths instead of our packages'
 * names.
 */
function writeTypes(within: readonly WorkspacePackage[], entry: string, outDir: string): void {
  const config = join(outDir, 'tsconfig.json');
  // Every source is named, because the compiler emits nothing for files that it reaches through
  // node_modules alone.
  const files = [
    entry,
    ...within.slice(1).flatMap((each) => each.files.filter((file) => !isTest(file))),
  ];
  const settings = {
    extends: relative(outDir, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: relative(outDir, '.'),
      outDir: 'types',
    },
    files: files.map((file) => relative(outDir, file)),
  };
  writeFileSync(config, JSON.stringify(settings));
  const compiler = join('node_modules', 'typescript7', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-p', config], { stdio: 'inherit' });
  rmSync(config);
  const types = join(outDir, 'types');
  const generated = 'libs/contracts/gen/dovetail.d.ts';
  if (entry.startsWith('libs/contracts/')) cpSync(generated, join(types, generated));
  const homes = new Map(
    within.map(({ name, folder }) => [name, join(types, folder, 'src/index.js')]),
  );
  for (const file of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue;
    const path = join(types, file);
    writeFileSync(path, withPaths(readFileSync(path, 'utf8'), dirname(path), homes));
  }
}

const withPaths = (text: string, from: string, homes: ReadonlyMap<string, string>): string =>
  text.replace(
    /(from |import\()(['"])(@dovetail\/[^'"]+)\2/g,
    (whole, lead: string, quote, name) => {
      const home = homes.get(String(name));
      if (home === undefined) return whole;
      const path = relative(from, home);
      return `${lead}${String(quote)}${path.startsWith('.') ? path : `./${path}`}${String(quote)}`;
    },
  );

/** The code of the package and of all that it needs, in one file. Outside packages stay outside. */
async function writeBundle(
  within: readonly WorkspacePackage[],
  source: string,
  outfile: string,
): Promise<void> {
  const inside = new Set(within.map(({ name }) => name));
  const outside = within.flatMap(({ manifest }) => Object.keys(manifest.dependencies ?? {}));
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    conditions: ['@dovetail/source'],
    external: outside.filter((each) => !inside.has(each)).flatMap((each) => [each, `${each}/*`]),
    logLevel: 'warning',
  });
}

async function packLibrary(folder: string): Promise<void> {
  const library = packages.find((each) => each.folder === folder);
  const wanted = installable[folder];
  if (library === undefined || wanted === undefined)
    throw new Error(
      `${folder} is not installable; use one of ${Object.keys(installable).join(', ')}`,
    );
  const { name, manifest } = library;
  const outDir = join('dist/packages', name.split('/')[1] ?? name);
  rmSync(outDir, { recursive: true, force: true });
  mkdirSync(outDir, { recursive: true });
  const source = join(folder, wanted.source);
  const within = withinOf(library);
  await writeBundle(within, source, join(outDir, 'index.js'));
  writeTypes(within, source, outDir);
  const published = {
    name,
    version: manifest.version,
    description: manifest.description,
    license: 'Apache-2.0',
    keywords: ['kubernetes', 'autoscaler', 'karpenter', 'ec2', 'nats'],
    type: 'module',
    exports: {
      [wanted.entry]: {
        types: `./types/${source.replace(/\.ts$/, '.d.ts')}`,
        default: './index.js',
      },
    },
    engines: { node: '>=20.19' },
    dependencies: dependenciesOf(within, join(outDir, 'index.js'), manifest.version),
  };
  writeFileSync(join(outDir, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
  cpSync('LICENSE', join(outDir, 'LICENSE'));
  cpSync(join(folder, 'README.md'), join(outDir, 'README.md'));
  cpSync('proto/dovetail', join(outDir, 'proto', 'dovetail'), { recursive: true });
  process.stdout.write(`${name} ${manifest.version} is in ${outDir}: npm pack ./${outDir}\n`);
}

for (const folder of process.argv.slice(2))
  await (folder === 'apps/cli' ? packCommand() : packLibrary(folder));
