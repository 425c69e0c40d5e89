import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { addForeignNode } from '@dovetail/test-support/cluster';
import type { TestWorld } from '@dovetail/test-support/world';
import { freePort } from '@dovetail/testbed';

import { type ChartNats, startChartNats, startReloader } from './chart-nats.js';
import { type Ended, planeOf, type Pod, type PodRunnerDeps, runPods } from './pod-runner.js';
import { reportReady, runServicePods, secrets, type ServicePods } from './service-pods.js';

/**
 * A cluster as EKS gives it, as far as the chart needs one: three nodes of a node group with the
 * kubelet's part for the chart's pods, volumes of the class gp2, and the roles of Pod Identity.
 */
export type EksCluster = {
  readonly deps: PodRunnerDeps;
  readonly services: () => ServicePods | undefined;
  readonly bus: () => ChartNats | undefined;
  /** The pods of Jobs and tests that have run, in order. */
  readonly ended: readonly Ended[];
  readonly failures: readonly string[];
  /** Writes mounted files again, as kubelets do within a minute of a change. */
  renew(): Promise<void>;
  stop(): Promise<void>;
};

const component = 'app.kubernetes.io/instance=dovetail,app.kubernetes.io/component';
const busUrl = 'tls://dovetail-nats.dovetail.svc:4222';
const configMaps: KubeResource = { ...secrets, kind: 'ConfigMap', plural: 'configmaps' };
type Stored = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const volume = (index: number): string => `
apiVersion: v1
kind: PersistentVolume
metadata: { name: volume-${index} }
spec:
  accessModes: [ReadWriteOnce]
  capacity: { storage: 3Gi }
  storageClassName: gp2
  hostPath: { path: /nowhere }
---`;
const storage = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: gp2 }
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---${[0, 1, 2].map(volume).join('')}`;

/** Plays the cluster until it is stopped. */
class StandIn implements EksCluster {
  readonly #at: TestWorld;
  readonly #natsPath: string;
  readonly #stop = new AbortController();
  readonly #loops: Promise<unknown>[] = [];
  #services: ServicePods | undefined;
  #bus: ChartNats | undefined;
  #reloader: ChildProcess | undefined;
  readonly deps: PodRunnerDeps;
  readonly ended: Ended[] = [];
  readonly failures: string[] = [];

  constructor(at: TestWorld, natsPath: string, deps: PodRunnerDeps) {
    this.#at = at;
    this.#natsPath = natsPath;
    this.deps = { ...deps, reached: (text) => this.#reached(text) };
    const jobs = `${component} in (keys, guard, test)`;
    this.#loops = [
      runPods(this.deps, jobs, this.#stop.signal, (end) => this.ended.push(end)),
      this.#runBus().catch((error: unknown) => this.failures.push(String(error))),
      this.#releaseVolumes(),
    ];
  }

  services(): ServicePods | undefined {
    return this.#services;
  }

  bus(): ChartNats | undefined {
    return this.#bus;
  }

  async renew(): Promise<void> {
    const { users } = await this.#busFiles();
    if (this.#bus !== undefined) await writeFile(join(this.#bus.folders[0], 'users.conf'), users);
    await this.#services?.renew();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    await this.#services?.stop();
    this.#reloader?.kill();
    await this.#bus?.stop();
  }

  /** Names of the cluster, as processes of this host reach them. */
  #reached(text: string): string {
    return text
      .replace(busUrl, this.#bus?.url ?? busUrl)
      .replace(
        /^http:\/\/dovetail-([\w-]+)\.dovetail\.svc:8080/,
        (_, service: string) => `http://127.0.0.1:${this.#services?.ports.get(service) ?? 0}`,
      );
  }

  async #stored(resource: KubeResource, name: string): Promise<Readonly<Record<string, string>>> {
    const object = await this.#at.kube.get({ resource, name, namespace: 'dovetail' });
    return (object as Stored | undefined)?.data ?? {};
  }

  async #busFiles(): Promise<{ config: string; users: string; tls: Record<string, string> }> {
    const { 'nats.conf': config = '' } = await this.#stored(configMaps, 'dovetail-nats');
    const { 'users.conf': users = '' } = await this.#stored(secrets, 'dovetail-nats-users');
    const tls = await this.#stored(secrets, 'dovetail-nats-tls');
    return { config, users: Buffer.from(users, 'base64').toString('utf8'), tls };
  }

  async #busPods(): Promise<readonly Pod[]> {
    const labelSelector = `${component}=nats`;
    return (await this.#at.kube.list(kubeResources.pods, { labelSelector })) as readonly Pod[];
  }

  /** Starts the servers once their pods have nodes, then the services, and ends both with them. */
  async #runBus(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const pods = await this.#busPods();
      const placed = pods.filter(({ spec }) => spec.nodeName !== undefined);
      if (this.#bus === undefined && placed.length === 3) await this.#startBus(placed);
      for (const { metadata } of pods.filter(
        (pod) => pod.metadata.deletionTimestamp !== undefined,
      )) {
        await this.#bus?.stop();
        const { name, namespace = '' } = metadata;
        const ref = { resource: kubeResources.pods, name, namespace };
        await this.#at.kube.delete(ref, { gracePeriodSeconds: 0 });
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  async #startBus(pods: readonly Pod[]): Promise<void> {
    const dir = join(this.deps.dir, 'bus');
    await mkdir(dir, { recursive: true });
    const names = pods.map(({ metadata }) => metadata.name).toSorted();
    const files = await this.#busFiles();
    this.#bus = await startChartNats({ path: this.#natsPath, dir, names, ...files });
    const { args = [] } = pods[0]?.spec.containers[1] ?? {};
    this.#reloader = await startReloader({ args, bus: this.#bus, dir });
    for (const pod of pods) await reportReady(this.#at.kube, pod);
    const { cloudUrl } = this.#at.lab;
    this.#services = runServicePods(
      {
        ...this.deps,
        portOf: freePort,
        added: (service): Record<string, string> =>
          /launcher|reaper/.test(service)
            ? {
                AWS_ENDPOINT_URL: cloudUrl,
                AWS_ACCESS_KEY_ID: service,
                AWS_SECRET_ACCESS_KEY: 'lab',
              }
            : {},
      },
      `${component} in (pod-watcher, solver, launcher, reaper)`,
    );
  }

  /** Lets claims of volumes go, as the controller does that no cluster of the tests has. */
  async #releaseVolumes(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      for (const { metadata } of await this.#at.list(kubeResources.persistentVolumeClaims)) {
        if (metadata.deletionTimestamp === undefined) continue;
        const { name, namespace = '' } = metadata;
        await this.#at.kube.patch(
          { resource: kubeResources.persistentVolumeClaims, name, namespace },
          { type: 'merge', body: { metadata: { finalizers: null } } },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** Makes the nodes and the storage class, and plays the rest. */
export async function startEksCluster(
  at: TestWorld,
  { dir, natsPath }: { readonly dir: string; readonly natsPath: string },
): Promise<EksCluster> {
  for (const zone of ['us-west-2a', 'us-west-2b', 'us-west-2c'])
    await addForeignNode(at, {
      name: `system-${zone}`,
      labels: { 'topology.kubernetes.io/zone': zone, 'eks.amazonaws.com/nodegroup': 'system' },
    });
  await at.kube.putManifests(storage);
  const tokenOf = async (account: string, pod: string): Promise<string> => {
    const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
    return (await at.kubectl('create', 'token', account, '-n', 'dovetail', ...bound)).trim();
  };
  return new StandIn(at, natsPath, { kube: at.kube, plane: await planeOf(at), dir, tokenOf });
}
