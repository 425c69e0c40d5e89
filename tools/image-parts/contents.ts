// The files of the image, named in one place: the Dockerfile and the OCI layout copy this folder.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, normalize } from 'node:path';

/** The programs that the image runs as services. */
export const services = ['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks'];
/** The bundles of the image, each with its notices. `cli` has parts of its own beside it. */
const programs = [...services, 'cli', 'highs-thread', 'traces'];

/** The folder that becomes `/app` of the image. */
export const imageFolder = 'dist/image';

/** The software bill of materials in that folder. */
export const sbomName = 'sbom.cdx.json';

/** Files that are no bundle: our licence, the sources of the catalog, the mark of ES modules. */
const besides = ['LICENSE', 'tools/catalog/NOTICE', 'deploy/docker/package.json'];

/** Code with its source map: a stack trace of a minified line is of no use without. */
const isCode = (file: string): boolean =>
  /^(pod-watcher|solver|solver-worker|launcher|reaper|console|console-page|sinks|cli|cli-.+|highs-thread|traces)\.m?js(\.map)?$/.test(
    file,
  );

/** Fills the folder of the image from what was built. */
export function stageImage(): void {
  rmSync(imageFolder, { recursive: true, force: true });
  mkdirSync(imageFolder, { recursive: true });
  const built = readdirSync('dist').filter(isCode);
  const missing = programs.filter((name) => !built.some((file) => file.startsWith(`${name}.`)));
  if (missing.length > 0)
    throw new Error(`dist has no bundle of ${missing.join(', ')}: run \`npm run build\``);
  const notices = programs.map((name) => `${name}.notices.txt`);
  const page = ['console-page.html', 'console-page.css'];
  const files = [...built, 'highs.wasm', ...page, ...notices].map((file) => join('dist', file));
  for (const file of [...files, ...besides]) copyFileSync(file, join(imageFolder, basename(file)));
}

/** The folders, below node_modules, of the packages whose code is in the bundles of the image. */
export function bundledFolders(): readonly string[] {
  const maps = readdirSync(imageFolder).filter((file) => file.endsWith('.map'));
  const sources = maps.flatMap(
    (file) =>
      (JSON.parse(readFileSync(join(imageFolder, file), 'utf8')) as { sources: string[] }).sources,
  );
  const folders = sources.flatMap(
    (source) =>
      /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(normalize(join('dist', source)))?.[0] ?? [],
  );
  return [...new Set(folders)].toSorted();
}
