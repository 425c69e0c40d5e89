import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import {
  type KubeApi,
  type KubeObject,
  type KubeResource,
  kubeResources,
} from '@dovetail/core-ports';
import { httpRequest, type RunningPart, startPart } from '@dovetail/testbed';

import { dist, kubeconfigOf, type Pod, type PodRunnerDeps } from './pod-runner.js';

/**
 * A kubelet as far as pods of the chart's Deployments need one. Each container's own command runs
 * from `dist` as a process. It has the environment of the container and nothing else, the token of
 * the pod's ServiceAccount, and the files of its Secrets and ConfigMaps.
 */
export type ServicePods = {
  /** The process of the first pod of each component. */
  readonly parts: ReadonlyMap<string, RunningPart>;
  /** The reasons why pods did not start. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
};

type Deps = Pick<PodRunnerDeps, 'kube' | 'plane' | 'dir' | 'tokenOf'>;
type Container = Pod['spec']['containers'][number];
type Volume = NonNullable<Pod['spec']['volumes']>[number];
type Stored = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const stored = (kind: 'Secret' | 'ConfigMap'): KubeResource => ({
  group: '',
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

/** Secrets, by which the chart hands credentials over. */
export const secrets = stored('Secret');

/** Writes the files of a volume, and returns their folder. */
async function mounted(pod: Pod, volume: Volume, { kube, dir }: Deps): Promise<string> {
  const folder = join(dir, pod.metadata.name, volume.name);
  const { secret, configMap } = volume;
  const object = (await kube.get({
    resource: stored(secret === undefined ? 'ConfigMap' : 'Secret'),
    namespace: pod.metadata.namespace ?? '',
    name: secret?.secretName ?? configMap?.name ?? '',
  })) as Stored | undefined;
  await mkdir(folder, { recursive: true });
  for (const [key, text] of Object.entries(object?.data ?? {}))
    await writeFile(
      join(folder, key),
      Buffer.from(text, secret === undefined ? 'utf8' : 'base64'),
      { mode: 0o600 },
    );
  return folder;
}

/** The environment of the container, with paths of mounts as they are here. */
async function environment(
  pod: Pod,
  container: Container,
  deps: Deps,
): Promise<Readonly<Record<string, string>>> {
  const folders = await Promise.all(
    (container.volumeMounts ?? []).map(async ({ name, mountPath }) => {
      const volume = pod.spec.volumes?.find((each) => each.name === name);
      if (volume === undefined) throw new Error(`no volume ${name}`);
      return [mountPath, await mounted(pod, volume, deps)] as const;
    }),
  );
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
  };
  const own = (container.env ?? []).map(({ name, value, valueFrom }) => {
    const text = valueFrom === undefined ? value : fields[valueFrom.fieldRef.fieldPath];
    const [path, folder] = folders.find(([each]) => text?.startsWith(`${each}/`)) ?? ['', ''];
    return [name, `${folder}${(text ?? '').slice(path.length)}`] as const;
  });
  return { ...Object.fromEntries(own), KUBECONFIG: await kubeconfigOf(pod, deps) };
}

/** Starts the pod's container. Returns once its readiness probe succeeds. */
async function start(pod: Pod, deps: Deps): Promise<RunningPart> {
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error(`${pod.metadata.name} has no container`);
  const env = await environment(pod, container, deps);
  const port = container.ports?.[0]?.containerPort ?? 0;
  const path = container.readinessProbe?.httpGet.path ?? '';
  return startPart({
    name: pod.metadata.name,
    // Nothing of the environment of this test reaches the service.
    command: '/usr/bin/env',
    args: [
      '-i',
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      process.execPath,
      ...container.args.map((arg) => arg.replace(/^\/app\b/, dist)),
    ],
    logFile: join(deps.dir, 'logs', `${container.name}.log`),
    ready: async () => (await httpRequest(`http://127.0.0.1:${port}${path}`)).status === 200,
    readyDeadlineMs: 60_000,
  });
}

/** Tells the API server that the pod runs and is ready. */
async function reportReady(kube: KubeApi, { metadata, spec }: Pod): Promise<void> {
  const at = new Date().toISOString();
  const container = {
    name: spec.containers[0]?.name,
    image: 'dovetail',
    imageID: 'dovetail',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: at } },
  };
  const conditions = ['Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: at,
  }));
  await kube.patch(
    { resource: kubeResources.pods, name: metadata.name, namespace: metadata.namespace ?? '' },
    {
      type: 'merge',
      body: {
        status: { phase: 'Running', startTime: at, conditions, containerStatuses: [container] },
      },
    },
    { subresource: 'status' },
  );
}

/** Runs every pod that the selector finds on a node, until it is stopped. */
export function runServicePods(deps: Deps, labelSelector: string): ServicePods {
  const stop = new AbortController();
  const parts = new Map<string, RunningPart>();
  const failures: string[] = [];
  const seen = new Map<string, Promise<void>>();
  const run = async (pod: Pod): Promise<void> => {
    const component = pod.metadata.labels?.['app.kubernetes.io/component'] ?? '';
    parts.set(component, await start(pod, deps));
    await reportReady(deps.kube, pod);
  };
  const look = async (): Promise<void> => {
    const pods = (await deps.kube.list(kubeResources.pods, { labelSelector })) as readonly Pod[];
    for (const pod of pods) {
      const { uid = '' } = pod.metadata;
      if (pod.spec.nodeName === undefined || seen.has(uid)) continue;
      seen.set(
        uid,
        run(pod).catch((error: unknown) => void failures.push(String(error))),
      );
    }
  };
  const looking = (async () => {
    while (!stop.signal.aborted) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return {
    parts,
    failures,
    async stop() {
      stop.abort();
      await looking;
      await Promise.all(seen.values());
      await Promise.all([...parts.values()].map((part) => part.stop()));
    },
  };
}
