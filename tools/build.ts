// Bundles apps into dist/: one ESM file each, so that a service starts in a fraction of a second.
// Usage: tsx tools/build.ts APP...
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';

import { build, type BuildOptions, type BuildResult, type Plugin } from 'esbuild';

import { noticesOf } from './notices.js';

// Some CommonJS dependencies ask for built-in modules at run time, and ESM has no `require` of its
// own.
const requireForBundles = [
  "import { createRequire as __createRequire } from 'node:module';",
  "import { fileURLToPath as __fileURLToPath } from 'node:url';",
  'const require = __createRequire(import.meta.url);',
  'const __filename = __fileURLToPath(import.meta.url);',
  "const __dirname = __fileURLToPath(new URL('.', import.meta.url));",
].join(' ');

const bundled = {
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  conditions: ['@dovetail/source'],
  sourcemap: 'linked',
  // Stack traces need lines, not text. With the text, each service would hold 80 MB more.
  sourcesContent: false,
  minifySyntax: true,
  // V8 keeps a source as long as the process, comments too. Names stay, for stack traces.
  minifyWhitespace: true,
  lineLimit: 200,
  // The licences of what is bundled are in a file of their own, as most packages keep them in one.
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  banner: { js: requireForBundles },
} satisfies BuildOptions;

const highsWasm = createRequire(import.meta.url).resolve('highs/runtime');

type Built = Pick<BuildResult<typeof bundled>, 'metafile'>;

/** The files whose code is in what was built. */
const inputsOf = ({ metafile }: Built): readonly string[] =>
  Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? path : [],
    ),
  );

/** Writes the licences of the packages whose code is in bundles beside them. */
const writeNotices = (name: string, ...built: readonly Built[]): void =>
  writeFileSync(`dist/${name}.notices.txt`, noticesOf(built.flatMap(inputsOf)));

/** Bundles a service, and the worker or the page beside it if it has one. */
async function buildService(app: string): Promise<void> {
  const worker = `apps/${app}/src/worker.ts`;
  const built = await build({
    ...bundled,
    entryPoints: {
      [app]: `apps/${app}/src/main.ts`,
      ...(existsSync(worker) ? { [`${app}-worker`]: worker } : {}),
    },
  });
  writeNotices(app, built, ...(existsSync(`apps/${app}/page`) ? [await buildPage(app)] : []));
}

/**
 * Bundles the command in parts, each loaded when a command needs it. Loading all of them takes
 * longer than many a command.
 */
async function buildCommand(): Promise<void> {
  const parts = existsSync('dist') ? readdirSync('dist') : [];
  for (const part of parts.filter((file) => file.startsWith('cli-'))) rmSync(`dist/${part}`);
  const command = await build({
    ...bundled,
    entryPoints: { cli: 'apps/cli/src/main.ts' },
    splitting: true,
    chunkNames: 'cli-[name]-[hash]',
  });
  writeNotices('cli', command);
}

/**
 * The WebAssembly of HiGHS as a module. The option `wasmBinary` of its types does nothing in
 * highs 1.15, and `instantiateWasm` is Emscripten's own.
 */
const wasmModule = (): string => `
  import { gunzipSync } from 'node:zlib';
  const packed = '${gzipSync(readFileSync(highsWasm), { level: 9 }).toString('base64')}';
  const instantiateWasm = (imports, done) => {
    const bytes = gunzipSync(Buffer.from(packed, 'base64'));
    WebAssembly.instantiate(bytes, imports).then(({ instance }) => done(instance));
    return {};
  };
  export const wasmLoading = { instantiateWasm };
  export const isOneFile = true;`;

/** Puts the WebAssembly itself in the place of the module that says it lies in a file. */
const withWasm: Plugin = {
  name: 'wasm-loading',
  setup: (building) =>
    building.onLoad({ filter: /\/wasm-loading\.ts$/ }, () => ({
      contents: wasmModule(),
      loader: 'js',
    })),
};

/** Bundles the command into one file for wherever Node.js is, with the licences at its end. */
async function buildOneFile(): Promise<void> {
  const { banner, ...shared } = bundled;
  const command = await build({
    ...shared,
    entryPoints: { dovetail: 'apps/cli/src/one-file.ts' },
    outExtension: { '.js': '.mjs' },
    sourcemap: false,
    banner: { js: `#!/usr/bin/env node\n${banner.js}` },
    plugins: [withWasm],
  });
  const licences = noticesOf(inputsOf(command)).replaceAll('*/', '* /');
  appendFileSync('dist/dovetail.mjs', `\n/*\n${licences}\n*/\n`);
  chmodSync('dist/dovetail.mjs', 0o755);
}

/** Bundles the page of a service for browsers, with its styles. */
async function buildPage(app: string): Promise<Built> {
  const { banner: _banner, ...shared } = bundled;
  copyFileSync(`apps/${app}/page/index.html`, `dist/${app}-page.html`);
  return await build({
    ...shared,
    entryPoints: { [`${app}-page`]: `apps/${app}/page/main.tsx` },
    platform: 'browser',
    // Browsers of 2022 and later.
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
  });
}

/** Bundles OpenTelemetry's SDK, which a service loads once it is told where traces go. */
async function buildTraces(): Promise<void> {
  const sdk = await build({
    ...bundled,
    entryPoints: { traces: 'libs/runtime/src/traces/otel.ts' },
    outExtension: { '.js': '.mjs' },
  });
  writeNotices('traces', sdk);
}

/** Bundles the thread that HiGHS runs in, with its WebAssembly beside it. */
async function buildHighs(): Promise<void> {
  const thread = await build({
    ...bundled,
    entryPoints: { 'highs-thread': 'libs/adapters/highs/src/highs-thread.ts' },
    outExtension: { '.js': '.mjs' },
  });
  writeNotices('highs-thread', thread);
  copyFileSync(highsWasm, 'dist/highs.wasm');
}

const apps = process.argv.slice(2);
for (const app of apps) await (app === 'cli' ? buildCommand() : buildService(app));
// The command and the solvers prove bounds.
if (apps.includes('cli') || apps.includes('solver')) await buildHighs();
if (apps.includes('cli')) await buildOneFile();
if (['pod-watcher', 'solver', 'launcher', 'reaper'].some((app) => apps.includes(app)))
  await buildTraces();
