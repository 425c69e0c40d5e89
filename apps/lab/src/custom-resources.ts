import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes/manifests';
import { createLog } from '@dovetail/runtime';

/** Applies every CustomResourceDefinition of a folder. */
export async function applyCustomResources(kubeconfigPath: string, folder: string): Promise<void> {
  const kube = connectKubernetes({
    kubeconfigPath,
    log: createLog({ service: 'lab', level: 'warn' }),
  });
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted();
  for (const file of files) await kube.putManifests(await readFile(join(folder, file), 'utf8'));
}
