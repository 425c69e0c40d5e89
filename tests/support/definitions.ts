import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes/manifests';

const folder = join(import.meta.dirname, '..', '..', 'deploy', 'crds');

/** Installs the CustomResourceDefinitions of deploy/crds. */
export async function applyDefinitions(kubeconfigPath: string): Promise<void> {
  const quiet = (): undefined => undefined;
  const kube = connectKubernetes({
    kubeconfigPath,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted())
    await kube.putManifests(await readFile(join(folder, file), 'utf8'));
}
