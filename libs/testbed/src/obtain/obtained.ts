import { homedir } from 'node:os';
import { join } from 'node:path';

import { messageOf } from '@dovetail/core-ports';

/** A part is unavailable. The reason is a sentence for the user and names the remedy. */
export type Unavailable = { readonly unavailable: string };

/** A program that can be started. */
export type Program = { readonly path: string; readonly version: string };

/** The cache folder, and the receiver of progress lines. */
export type ObtainOptions = {
  readonly cacheDir?: string;
  readonly log?: (line: string) => void;
  /**
   * Uses only what is there, without downloads and builds. Tests must not start a build of minutes.
   */
  readonly cachedOnly?: boolean;
};

/** Obtain options with nothing left out. */
export type ObtainSettings = Required<ObtainOptions>;

/** The cache of obtained parts: outside any work tree, so that it outlives clones and cleanings. */
const defaultCacheDir = (): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'dovetail');

/** The options with their defaults. */
export const settingsOf = (options: ObtainOptions): ObtainSettings => ({
  cacheDir: options.cacheDir ?? defaultCacheDir(),
  log: options.log ?? (() => undefined),
  cachedOnly: options.cachedOnly ?? false,
});

/** Whether obtaining ended with a reason instead of a part. */
export const isUnavailable = (obtained: object): obtained is Unavailable =>
  'unavailable' in obtained;

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
