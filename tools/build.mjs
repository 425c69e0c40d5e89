// Bundles every deployable into dist/: one ESM file each, so that a service starts in a fraction of a second.
import { build } from 'esbuild';
import { existsSync, readdirSync } from 'node:fs';

const apps = readdirSync('apps').filter((app) => existsSync(`apps/${app}/src/main.ts`));
const entryPoints = Object.fromEntries([
  ...apps.map((app) => [app, `apps/${app}/src/main.ts`]),
  ...apps.filter((app) => existsSync(`apps/${app}/src/worker.ts`)).map((app) => [`${app}-worker`, `apps/${app}/src/worker.ts`]),
]);

await build({
  entryPoints,
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  conditions: ['@dovetail/source'],
  sourcemap: 'linked',
  keepNames: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Some CommonJS dependencies ask for built-in modules at run time; ESM has no require of its own.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; import { fileURLToPath as __fileURLToPath } from 'node:url'; const require = __createRequire(import.meta.url); const __filename = __fileURLToPath(import.meta.url); const __dirname = __fileURLToPath(new URL('.', import.meta.url));" },
});
process.stdout.write(`built ${Object.keys(entryPoints).join(', ')} into dist/\n`);
