// Bundles every deployable into dist/: one ESM file each, so that a service starts in a fraction of a second.
import { build } from 'esbuild';
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';

const apps = readdirSync('apps').filter((app) => existsSync(`apps/${app}/src/main.ts`));
const entryPoints = Object.fromEntries([
  ...apps.map((app) => [app, `apps/${app}/src/main.ts`]),
  ...apps.filter((app) => existsSync(`apps/${app}/src/worker.ts`)).map((app) => [`${app}-worker`, `apps/${app}/src/worker.ts`]),
]);

const bundled = {
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  conditions: ['@dovetail/source'],
  sourcemap: 'linked',
  // Stack traces need lines, not text: with it each service would hold 80 MB more.
  sourcesContent: false,
  keepNames: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Some CommonJS dependencies ask for built-in modules at run time; ESM has no require of its own.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; import { fileURLToPath as __fileURLToPath } from 'node:url'; const require = __createRequire(import.meta.url); const __filename = __fileURLToPath(import.meta.url); const __dirname = __fileURLToPath(new URL('.', import.meta.url));" },
};
const { cli, ...services } = entryPoints;
await build({ ...bundled, entryPoints: services });
// The command line in parts, each loaded when a command needs it: reading all of them takes longer than many a command.
for (const part of readdirSync('dist').filter((file) => file.startsWith('cli-'))) rmSync(`dist/${part}`);
await build({ ...bundled, entryPoints: { cli }, splitting: true, chunkNames: 'cli-[name]-[hash]' });
// The thread of HiGHS and its WebAssembly, beside the bundles that start it when somebody asks for a tight bound.
await build({ ...bundled, entryPoints: { 'highs-thread': 'libs/adapters/highs/src/highs-thread.mjs' }, outExtension: { '.js': '.mjs' } });
copyFileSync(createRequire(import.meta.url).resolve('highs/runtime'), 'dist/highs.wasm');
process.stdout.write(`built ${Object.keys(entryPoints).join(', ')} and the thread of HiGHS into dist/\n`);
