import { messageOf } from './errors.js';
import { defaultCacheDir } from './cache.js';

/** A part could not be had; the reason is a sentence for the user and names the remedy. */
export type Unavailable = { readonly unavailable: string };

/** A program that can be started. */
export type Program = { readonly path: string; readonly version: string };

/** Where to keep what is obtained, and who hears of the progress. */
export type ObtainOptions = {
  readonly cacheDir?: string;
  readonly log?: (line: string) => void;
  /** Take what is there, download and build nothing: for tests, which must not start a build of minutes. */
  readonly cachedOnly?: boolean;
};

/** Obtain options with nothing left out. */
export type ObtainSettings = Required<ObtainOptions>;

export const settingsOf = (options: ObtainOptions): ObtainSettings => ({
  cacheDir: options.cacheDir ?? defaultCacheDir(),
  log: options.log ?? (() => undefined),
  cachedOnly: options.cachedOnly ?? false,
});

/** Whether obtaining ended with a reason instead of a part. */
export const isUnavailable = (obtained: object): obtained is Unavailable => 'unavailable' in obtained;

/** Obtaining depends on the outside, so its failure is an answer, not an exception. */
export async function orUnavailable<T extends object>(obtain: () => Promise<T>): Promise<T | Unavailable> {
  try {
    return await obtain();
  } catch (thrown) {
    return { unavailable: messageOf(thrown) };
  }
}
