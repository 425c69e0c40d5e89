// Makes an installable package of the built command: its bundle alone, without dependencies.
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { manifestAt } from './workspace.js';

const outDir = 'dist/packages/cli';
/** The command, its parts with their source maps, and the thread that proves bounds. */
const ofCommand =
  /^(cli(-.+)?\.js|highs-thread\.mjs)(\.map)?$|^highs\.wasm$|^(cli|highs-thread)\.notices\.txt$/;
const start = "#!/usr/bin/env node\nimport '../lib/cli.js';\n";

/** Writes the package `@dovetail/cli`, which installs the program `dovetail`. */
export function packCommand(): void {
  const files = readdirSync('dist').filter((file) => ofCommand.test(file));
  for (const needed of ['cli.js', 'highs-thread.mjs', 'highs.wasm'])
    if (!files.includes(needed))
      throw new Error(`dist/${needed} is missing: run \`npx nx run @dovetail/app-cli:build\``);
  rmSync(outDir, { recursive: true, force: true });
  for (const folder of ['bin', 'lib']) mkdirSync(join(outDir, folder), { recursive: true });
  for (const file of files) copyFileSync(join('dist', file), join(outDir, 'lib', file));
  writeFileSync(join(outDir, 'bin', 'dovetail.mjs'), start, { mode: 0o755 });
  const { version } = manifestAt('apps/cli/package.json');
  const published = {
    name: '@dovetail/cli',
    version,
    license: 'Apache-2.0',
    type: 'module',
    // By the second name kubectl finds it as a plug-in: `kubectl dovetail`.
    bin: { dovetail: 'bin/dovetail.mjs', 'kubectl-dovetail': 'bin/dovetail.mjs' },
    engines: { node: '>=20.19' },
  };
  writeFileSync(join(outDir, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
  cpSync('LICENSE', join(outDir, 'LICENSE'));
  cpSync('tools/catalog/NOTICE', join(outDir, 'NOTICE'));
  process.stdout.write(`${published.name} ${version} is in ${outDir}: npm pack ./${outDir}\n`);
}
