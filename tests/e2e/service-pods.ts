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
  /** The process of one pod of each component. */
  readonly parts: ReadonlyMap<string, RunningPart>;
  /** The ports of these processes. */
  readonly ports: ReadonlyMap<string, number>;
  /** The reasons why pods did not start. */
  readonly failures: readonly string[];
  /** Writes the files of Secrets and ConfigMaps again, as a kubelet does when they change. */
  renew(): Promise<void>;
  stop(): Promise<void>;
};

/** The outside that service pods need. */
type Deps = Pick<PodRunnerDeps, 'kube' | 'plane' | 'dir' | 'tokenOf' | 'reached'> & {
  /** Gives each pod a port of its own for the one that it lists; without it, it has that one. */
  readonly portOf?: () => Promise<number>;
  /** Variables that the cluster adds to a pod, such as by Pod Identity. */
  readonly added?: (component: string) => Readonly<Record<string, string>>;
};
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
    const { reached = (each: string) => each } = deps;
    return [name, reached(`${folder}${(text ?? '').slice(path.length)}`)] as const;
  });
  return {
    ...Object.fromEntries(own),
    ...deps.added?.(componentOf(pod)),
    KUBECONFIG: await kubeconfigOf(pod, deps),
  };
}

const componentOf = (pod: Pod): string =>
  pod.metadata.labels?.['app.kubernetes.io/component'] ?? '';

/** Starts the pod's container. Returns once its readiness probe succeeds. */
async function start(pod: Pod, port: number, deps: Deps): Promise<RunningPart> {
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error(`${pod.metadata.name} has no container`);
  const env = { ...(await environment(pod, container, deps)), HTTP_PORT: `${port}` };
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
    logFile: join(deps.dir, 'logs', `${pod.metadata.name}.log`),
    ready: async () => (await httpRequest(`http://127.0.0.1:${port}${path}`)).status === 200,
    readyDeadlineMs: 60_000,
  });
}

/** Tells the API server that all containers of the pod run and are ready. */
export async function reportReady(kube: KubeApi, { metadata, spec }: Pod): Promise<void> {
  const at = new Date().toISOString();
  const containers = spec.containers.map(({ name }) => ({
    name,
    image: 'dovetail',
    imageID: 'dovetail',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: at } },
  }));
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
        status: { phase: 'Running', startTime: at, conditions, containerStatuses: containers },
      },
    },
    { subresource: 'status' },
  );
}

/** Runs every pod that the selector finds on a node, until it is stopped. */
export const runServicePods = (deps: Deps, labelSelector: string): ServicePods =>
  new Kubelet(deps, labelSelector);

class Kubelet implements ServicePods {
  readonly #deps: Deps;
  readonly #selector: string;
  readonly #stop = new AbortController();
  readonly #seen = new Map<string, Promise<void>>();
  readonly #running = new Map<string, { readonly pod: Pod; readonly part: RunningPart }>();
  readonly #looking: Promise<void>;
  readonly parts = new Map<string, RunningPart>();
  readonly ports = new Map<string, number>();
  readonly failures: string[] = [];

  constructor(deps: Deps, labelSelector: string) {
    this.#deps = deps;
    this.#selector = labelSelector;
    this.#looking = this.#lookOn();
  }

  async renew(): Promise<void> {
    for (const { pod } of this.#running.values())
      for (const volume of pod.spec.volumes ?? []) await mounted(pod, volume, this.#deps);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#looking;
    await Promise.all(this.#seen.values());
    await Promise.all([...this.#running.values()].map(({ part }) => part.stop()));
  }

  async #lookOn(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #look(): Promise<void> {
    const { kube } = this.#deps;
    const labelSelector = this.#selector;
    for (const pod of (await kube.list(kubeResources.pods, { labelSelector })) as readonly Pod[]) {
      const { uid = '', deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined && this.#running.has(uid)) await this.#end(pod);
      else if (pod.spec.nodeName !== undefined && !this.#seen.has(uid))
        this.#seen.set(
          uid,
          this.#run(pod).catch((error: unknown) => void this.failures.push(String(error))),
        );
    }
  }

  async #run(pod: Pod): Promise<void> {
    const listed = pod.spec.containers[0]?.ports?.[0]?.containerPort ?? 0;
    const port = (await this.#deps.portOf?.()) ?? listed;
    const part = await start(pod, port, this.#deps);
    this.#running.set(pod.metadata.uid ?? '', { pod, part });
    this.parts.set(componentOf(pod), part);
    this.ports.set(componentOf(pod), port);
    await reportReady(this.#deps.kube, pod);
  }

  /** Ends the process of a pod that is deleted, and then lets the pod go. */
  async #end({ metadata: { uid = '', name, namespace = '' } }: Pod): Promise<void> {
    const found = this.#running.get(uid);
    this.#running.delete(uid);
    await found?.part.stop();
    const ref = { resource: kubeResources.pods, name, namespace };
    await this.#deps.kube.delete(ref, { uid, gracePeriodSeconds: 0 });
  }
}
