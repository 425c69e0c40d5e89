import { homedir } from 'node:os';
import { join } from 'node:path';

import { messageOf } from '@dovetail/core-ports';

/** A part is unavailable. The reason is a sentence for the user and names the remedy. */
export type Unavailable = { readonly unavailable: string };

/** A program that can be started. */
export type Program = { readonly path: string; readonly version: string };

/** The cache folder, and the receiver of progress lines. */
export type ObtainOptions = { readonly cacheDir?: string; readonly log?: (line: string) => void };

/** Obtain options with nothing left out. */
export type ObtainSettings = Required<ObtainOptions>;

/** The cache of obtained parts: outside any work tree, so that it outlives clones and cleanings. */
const defaultCacheDir = (): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dovetail');

/** The options with their defaults. */
export const settingsOf = (options: ObtainOptions): ObtainSettings => ({
  cacheDir: options.cacheDir ?? defaultCacheDir(),
  log: options.log ?? (() => undefined),
});

/** Whether obtaining ended with a reason instead of a part. */
export const isUnavailable = (obtained: object): obtained is Unavailable =>
  'unavailable' in obtained;

/** Whether tests run on the real control plane and the other large parts (`DOVETAIL_REAL=1`). */
export const wantsRealParts = (): boolean => process.env['DOVETAIL_REAL'] === '1';

/**
 * A large outside part for a test. `make test-real` obtains it, by a build of minutes if need be.
 * `make test` does without it even if it is in the cache, so that it decides the same everywhere.
 */
export const forTests = <T extends object>(
  obtain: () => Promise<T | Unavailable>,
): Promise<T | Unavailable> =>
  wantsRealParts() ? obtain() : Promise.resolve({ unavailable: '`make test-real` includes it' });

/** Returns a failure to obtain as a value, because it depends on the outside. */
export async function orUnavailable<T extends object>(
  obtain: () => Promise<T>,
): Promise<T | Unavailable> {
  try {
    return await obtain();
  } catch (thrown) {
    return { unavailable: messageOf(thrown) };
  }
}
