import { readFileSync } from 'node:fs';

/** A file of the page. */
type PageFile = { readonly type: string; readonly body: Buffer };

/** The files of the page, by the paths that a browser asks for. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** Paths, files and types. No other file is served, whatever the folder holds. */
const served = [
  ['/', 'console-page.html', 'text/html; charset=utf-8'],
  ['/page.js', 'console-page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'console-page.css', 'text/css; charset=utf-8'],
] as const;

/** Reads the built page from its folder. Throws if a file is missing: the build was incomplete. */
export const readPage = (folder: URL): PageFiles =>
  new Map(
    served.map(([path, file, type]) => [path, { type, body: readFileSync(new URL(file, folder)) }]),
  );
