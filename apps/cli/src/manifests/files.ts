import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { compareText } from '@dovetail/core-kube-model';

import { InputError } from './input-error.js';

/** The name of standard input among the files. */
export const standardInput = '(standard input)';

const isManifest = (name: string): boolean => /\.(ya?ml|json)$/.test(name);

/** The manifests below a folder, by path. */
function walk(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => compareText(a.name, b.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return walk(path);
      return isManifest(entry.name) ? [path] : [];
    });
}

function kindOf(path: string): 'file' | 'folder' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    throw new InputError('there is no such file or folder: check the path', {
      place: { file: path },
      cause: error,
    });
  }
}

function read(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new InputError('the file cannot be read: check its permissions', {
      place: { file: path },
      cause: error,
    });
  }
}

/**
 * The texts of files and of all manifests (.yaml, .yml, .json) in folders. `-` is standard input.
 * Each file is read once, in the order of first mention.
 */
export function readManifests(paths: readonly string[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const path of paths) {
    const files = path !== '-' && kindOf(path) === 'folder' ? walk(path) : [path];
    if (files.length === 0)
      throw new InputError('this folder holds no manifests (.yaml, .yml or .json): name another', {
        place: { file: path },
      });
    for (const file of files)
      if (!texts.has(file)) texts.set(file === '-' ? standardInput : file, read(file));
  }
  return texts;
}
