import { join } from 'node:path';

import { run } from '../process/run.js';
import { installOnce } from './cache.js';
import { type ObtainSettings, orUnavailable, type Program, type Unavailable } from './obtained.js';
import { versionOf } from './versions.js';

const deadlineMs = 10 * 60_000;
const remedy = 'make python3 with its venv module, and PyPI, reachable';

/** Packages of PyPI in a Python environment of their own. */
export type PythonPackages = {
  /** The name of the environment in progress lines. */
  readonly title: string;
  /** The name of its folder in the cache. It changes with every version in `packages`. */
  readonly name: string;
  /** Requirements as pip reads them, pinned: the first one's version is the environment's. */
  readonly packages: readonly string[];
  /** Modules that the environment must be able to import. */
  readonly imports: readonly string[];
};

/** Obtains the packages, cached. The path is that of the environment's Python. */
export async function obtainPython(
  wanted: PythonPackages,
  settings: ObtainSettings,
): Promise<Program | Unavailable> {
  const { title, name, packages, imports } = wanted;
  const [distribution = '', version = ''] = (packages[0] ?? '').replace(/\[.*\]/, '').split('==');
  const asked = [
    ...imports.map((module) => `import ${module}`),
    `from importlib.metadata import version; print(version('${distribution}'))`,
  ].join('; ');
  return await orUnavailable(async () => {
    const folder = await installOnce({
      ...settings,
      name,
      deadlineMs,
      isGood: async (candidate) =>
        (await versionOf(pythonIn(candidate), ['-c', asked], /^(\S+)/)) === version,
      fill: async (draft) => {
        settings.log(
          `${title}: installing into a Python environment of its own (about half a minute)`,
        );
        await run('python3', ['-m', 'venv', draft], { deadlineMs, remedy });
        const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
        await run(pythonIn(draft), [...args, ...packages], { deadlineMs, remedy });
      },
    });
    return { path: pythonIn(folder), version };
  });
}

const pythonIn = (folder: string): string => join(folder, 'bin', 'python');
