import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type KubeApi, type KubeObject, kubeResources } from '@dovetail/core-ports';
import type { TestWorld } from '@dovetail/test-support/world';
import type { RunningControlPlane } from '@dovetail/testbed';

/**
 * A kubelet as far as pods of one command need one: it runs the container's own command from
 * `dist`, as a process with the token of the pod's ServiceAccount, and reports how that ended.
 */
export const dist = join(import.meta.dirname, '..', '..', 'dist');

/** How a pod ended. */
export type Ended = {
  readonly args: readonly string[];
  readonly code: number | null;
  readonly said: string;
};

/** A pod, as far as it is run here. */
export type Pod = KubeObject & {
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName: string;
    readonly automountServiceAccountToken: boolean;
    readonly containers: readonly {
      readonly name: string;
      readonly args: readonly string[];
      readonly env?: readonly {
        readonly name: string;
        readonly value?: string;
        readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
      }[];
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
      readonly readinessProbe?: { readonly httpGet: { readonly path: string } };
      readonly ports?: readonly { readonly containerPort: number }[];
    }[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string };
      readonly configMap?: { readonly name: string };
    }[];
  };
  readonly status?: { readonly phase?: string };
};

/** The outside that running pods needs. */
export type PodRunnerDeps = {
  readonly kube: KubeApi;
  readonly plane: Pick<RunningControlPlane, 'url' | 'ca'>;
  readonly dir: string;
  /** A token of a ServiceAccount, bound to the pod. */
  readonly tokenOf: (account: string, pod: string) => Promise<string>;
  /** Files and addresses of the cluster, as this process reaches them. */
  readonly reached?: (text: string) => string;
};

/** The address of the API server, and its authority. */
export async function planeOf(
  at: TestWorld,
): Promise<{ readonly url: string; readonly ca: string }> {
  const text = await at.kubectl('config', 'view', '--raw', '--output', 'json');
  const [first] = (
    JSON.parse(text) as {
      clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
    }
  ).clusters;
  const { server = '', 'certificate-authority-data': ca = '' } = first?.cluster ?? {};
  return { url: server, ca: Buffer.from(ca, 'base64').toString('utf8') };
}

type KubeconfigDeps = Pick<PodRunnerDeps, 'plane' | 'dir' | 'tokenOf'>;

/** The kubeconfig of a pod: the cluster with the token of its account, or with none. */
export async function kubeconfigOf(pod: Pod, deps: KubeconfigDeps): Promise<string> {
  const { plane, dir, tokenOf } = deps;
  const { serviceAccountName, automountServiceAccountToken } = pod.spec;
  const user = automountServiceAccountToken
    ? { token: await tokenOf(serviceAccountName, pod.metadata.name) }
    : {};
  const cluster = {
    server: plane.url,
    'certificate-authority-data': Buffer.from(plane.ca).toString('base64'),
  };
  const path = join(dir, `${pod.metadata.name}.json`);
  await writeFile(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'lab', cluster }],
      users: [{ name: 'pod', user }],
      contexts: [{ name: 'pod', context: { cluster: 'lab', user: 'pod' } }],
      'current-context': 'pod',
    }),
  );
  return path;
}

/** The place of a pod's token and of the authority of the API server, in a container. */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Writes the files of a pod's ServiceAccount, and returns their folder. */
async function accountOf(pod: Pod, { plane, dir, tokenOf }: KubeconfigDeps): Promise<string> {
  const folder = join(dir, pod.metadata.name, 'serviceaccount');
  if (!pod.spec.automountServiceAccountToken) return folder;
  await mkdir(folder, { recursive: true });
  const token = await tokenOf(pod.spec.serviceAccountName, pod.metadata.name);
  await writeFile(join(folder, 'token'), token, { mode: 0o600 });
  await writeFile(join(folder, 'ca.crt'), plane.ca);
  return folder;
}

async function execute(pod: Pod, deps: PodRunnerDeps): Promise<Ended> {
  const { reached = (text: string) => text, dir, plane } = deps;
  const [container] = pod.spec.containers;
  const account = await accountOf(pod, deps);
  const args = (container?.args ?? []).map((arg) =>
    reached(arg.replace(/^\/app\b/, dist).replace(accountFolder, account)),
  );
  const own: Record<string, string> = Object.fromEntries(
    (container?.env ?? []).map(({ name, value = '' }) => [name, reached(value)] as const),
  );
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      KUBECONFIG: await kubeconfigOf(pod, deps),
      KUBERNETES_SERVICE_HOST: new URL(plane.url).hostname,
      KUBERNETES_SERVICE_PORT: new URL(plane.url).port,
      TMPDIR: dir,
      ...own,
    },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { args, code, said };
}

/** Tells the API server how a pod's only container ended. */
async function report(kube: KubeApi, pod: Pod, { code, said }: Ended): Promise<void> {
  const { name, namespace } = pod.metadata;
  const at = new Date().toISOString();
  const terminated = { exitCode: code ?? 255, startedAt: at, finishedAt: at, message: said };
  const status = {
    name: pod.spec.containers[0]?.name,
    image: 'dovetail',
    imageID: 'dovetail',
    ready: false,
    restartCount: 0,
    state: { terminated },
  };
  await kube.patch(
    { resource: kubeResources.pods, name, ...(namespace === undefined ? {} : { namespace }) },
    {
      type: 'merge',
      body: { status: { phase: code === 0 ? 'Succeeded' : 'Failed', containerStatuses: [status] } },
    },
    { subresource: 'status' },
  );
}

/**
 * Runs, one after the other, every pod that the selector finds on a node, until `stop`. Answers how
 * they ended, in order.
 */
export async function runPods(
  deps: PodRunnerDeps,
  labelSelector: string,
  stop: AbortSignal,
  onEnd: (end: Ended) => void = () => undefined,
): Promise<readonly Ended[]> {
  const ended: Ended[] = [];
  const done = new Set<string>();
  while (!stop.aborted) {
    const pods = (await deps.kube.list(kubeResources.pods, { labelSelector })) as readonly Pod[];
    for (const pod of pods) {
      const { uid = '' } = pod.metadata;
      if (pod.spec.nodeName === undefined || pod.status?.phase !== 'Pending') continue;
      if (pod.metadata.deletionTimestamp !== undefined || done.has(uid)) continue;
      done.add(uid);
      const end = await execute(pod, deps);
      ended.push(end);
      onEnd(end);
      await report(deps.kube, pod, end);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return ended;
}
