import {
  type KubeApi,
  KubeError,
  type KubeResource,
  kubeResources,
  type KubeWatches,
  Stopper,
  type WatchEvent,
  type WatchReach,
} from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, Stage } from '@dovetail/sim-stage';

import type { ShadowRequest } from '../request.js';
import { runShadow } from '../run.js';

const { nodeClaims, nodes, nodePools, ec2NodeClasses } = kubeResources;

/** The command as it runs beside a cluster, and what it has said. */
export type Shadowing = {
  readonly stage: Stage;
  readonly stop: Stopper;
  readonly ended: Promise<number>;
  readonly said: { out: string; err: string };
};

/** Starts the command beside a cluster with a pool and two nodes, and waits for its first look. */
export async function startShadow(
  request: Partial<ShadowRequest> = {},
  around = readOnly,
): Promise<Shadowing> {
  const stage = await new Stage().begin();
  const stop = new Stopper();
  const said = { out: '', err: '' };
  const { kube, clock } = stage;
  await kube.create(ec2NodeClasses, nodeClassObject());
  await kube.create(nodePools, nodePoolObject());
  await ready(kube, 'n1', { type: 'm5.2xlarge', cpu: '8' });
  await ready(kube, 'n2', { type: 'm5.xlarge', cpu: '4' });
  const whole: ShadowRequest = {
    catalog: 'us-west-2',
    output: 'json',
    consolidation: 'none',
    budgetMs: 0,
    ...request,
  };
  const ended = runShadow(
    whole,
    { kube: around(kube), clock },
    { out: (text) => (said.out += text), err: (text) => (said.err += text) },
    stop,
  );
  await stage.until('the first look', () => said.err.includes('watching; each'));
  return { stage, stop, ended, said };
}

/** Ends the command and its cluster. Returns the exit code. */
export async function endShadow({ stage, stop, ended }: Shadowing): Promise<number> {
  stop.abort();
  await stage.clock.advance(0);
  const code = await ended;
  stage.end();
  return code;
}

/** Only watches: any other call of the command would fail. */
const readOnly = (kube: KubeWatches): KubeWatches => ({
  watch: (options, signal) => kube.watch(options, signal),
});

/** Watches whose connection can be cut: then nothing comes, until it is mended. */
export class Cable {
  readonly #reaches: { resource: KubeResource; reach: (reach: WatchReach) => void }[] = [];
  readonly #cutOff: readonly KubeResource[] | undefined;
  #open = Promise.resolve();
  #mended: () => void = () => undefined;

  /** Absent: it carries all resources. */
  constructor(cutOff?: readonly KubeResource[]) {
    this.#cutOff = cutOff;
  }

  readonly around = (kube: KubeWatches): KubeWatches => ({
    watch: (options, signal) => {
      const events = kube.watch(options, signal);
      if (this.#cutOff?.includes(options.resource) === false) return events;
      if (options.reach !== undefined)
        this.#reaches.push({ resource: options.resource, reach: options.reach });
      return this.#carry(events);
    },
  });

  cut(): void {
    this.#open = new Promise((resolve) => (this.#mended = resolve));
    const error = new KubeError('unavailable', 'connect ECONNREFUSED');
    for (const { reach } of this.#reaches) reach({ kind: 'lost', error });
  }

  /** The API server does not serve the absent resource. */
  mend(absent?: KubeResource): void {
    this.#mended();
    const error = new KubeError('no-such-resource', 'not found');
    for (const { resource, reach } of this.#reaches)
      reach(resource === absent ? { kind: 'lost', error } : { kind: 'following' });
  }

  async *#carry<T>(events: AsyncIterable<WatchEvent<T>>): AsyncGenerator<WatchEvent<T>> {
    for await (const event of events) {
      await this.#open;
      yield event;
    }
  }
}

const labelsOf = (type: string): Readonly<Record<string, string>> => ({
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': type,
  'topology.kubernetes.io/zone': 'us-west-2a',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
});

const hexOf = (name: string): string => Buffer.from(name).toString('hex');

/** A NodeClaim as Karpenter makes it, before its launch. */
export const claimObject = (name: string) => ({
  metadata: {
    name,
    labels: { 'karpenter.sh/nodepool': 'general' },
    finalizers: ['karpenter.sh/termination'],
  },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    requirements: [{ key: 'karpenter.sh/nodepool', operator: 'In', values: ['general'] }],
    resources: { requests: { cpu: '1' } },
    expireAfter: '336h',
  },
});

/** Launches a claim: an instance of the type, under the name of its claim. */
export async function launch(kube: KubeApi, name: string, type: string): Promise<void> {
  const ref = { resource: nodeClaims, name };
  await kube.patch(ref, { type: 'merge', body: { metadata: { labels: labelsOf(type) } } });
  const status = { providerID: `aws:///us-west-2a/i-${hexOf(name)}`, nodeName: name };
  await kube.patch(ref, { type: 'merge', body: { status } }, { subresource: 'status' });
}

/** A node that Karpenter launched before, with its claim. */
async function ready(
  kube: KubeApi,
  name: string,
  { type, cpu }: { readonly type: string; readonly cpu: string },
): Promise<void> {
  await kube.create(nodeClaims, claimObject(name));
  await launch(kube, name, type);
  const held = { cpu, memory: `${Number(cpu) * 4}Gi`, pods: '58' };
  await kube.create(nodes, {
    metadata: {
      name,
      labels: {
        ...labelsOf(type),
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
        'kubernetes.io/hostname': name,
      },
    },
    spec: { providerID: `aws:///us-west-2a/i-${hexOf(name)}` },
    status: { capacity: held, allocatable: held, conditions: [{ type: 'Ready', status: 'True' }] },
  });
}
