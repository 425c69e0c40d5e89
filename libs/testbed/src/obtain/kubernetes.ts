import { rename } from 'node:fs/promises';
import { join } from 'node:path';

import { installOnce } from './cache.js';
import { buildGo } from './go-build.js';
import type { ObtainSettings } from './obtained.js';
import { versionOf } from './versions.js';

/** The Kubernetes release that the control plane is built from by default. */
export const kubernetesVersionDefault = '1.34.3';

const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
// Kubernetes' module requires etcd's server for its tests, so the etcd that it was tested with
// comes along. The older etcds of distributions distort measurements: below 3.5.13 the apiserver
// turns off lists from its cache and streamed lists.
const packages = [
  ...programs.map((name) => `k8s.io/kubernetes/cmd/${name}`),
  'go.etcd.io/etcd/server/v3',
];
const buildDeadlineMs = 30 * 60_000;
const remedy =
  'install Go 1.24 or later, make its module proxy reachable, and free 5 GB of disk; then try again';

/**
 * Returns the folder of etcd and the three Kubernetes programs, and builds them from their Go
 * modules when missing.
 */
export async function installKubernetes(
  version: string,
  settings: ObtainSettings,
): Promise<string> {
  return await installOnce({
    ...settings,
    name: `kubernetes-${version}`,
    deadlineMs: buildDeadlineMs,
    isGood: async (folder) => {
      const found = await Promise.all(
        programs.map((name) => versionOf(join(folder, name), ['--version'], /v(\S+)/)),
      );
      return (
        found.every((it) => it === version) &&
        (await etcdVersionOf(join(folder, 'etcd'))) !== undefined
      );
    },
    fill: (draft) => buildInto(draft, version, settings.log),
  });
}

/** Returns the version of an etcd, or undefined if it does not run. */
export const etcdVersionOf = (path: string): Promise<string | undefined> =>
  versionOf(path, ['--version'], /etcd Version: (\S+)/);

async function buildInto(
  folder: string,
  version: string,
  log: (line: string) => void,
): Promise<void> {
  const [major = '', minor = ''] = version.split('.');
  // Release builds stamp these. Without them the server reports v0.0.0, and clients misjudge it.
  const stamps = [`gitVersion=v${version}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  await buildGo(
    {
      title: `Kubernetes ${version}`,
      module: { path: 'k8s.io/kubernetes', version: `v${version}` },
      packages,
      stamps: stamps.map((stamp) => `k8s.io/component-base/version.${stamp}`),
      // Kubernetes replaces its own libraries by folders of its tree. That works for the main
      // module only, so ours repeats the replacements with the published versions.
      replaces: (requires) =>
        Object.fromEntries(
          requires
            .filter((required) => required.Version === 'v0.0.0')
            .map((required) => [required.Path, version.replace(/^1\./, 'v0.')]),
        ),
      effort: `etcd, ${programs.join(', ')} (about 5 minutes on 2 cores, once)`,
      remedy,
      log,
    },
    folder,
  );
  // Go names a program after the last word of its package.
  await rename(join(folder, 'server'), join(folder, 'etcd'));
}
