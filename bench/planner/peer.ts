import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type { LabelSelector, Pod, PodAffinityTerm, Resources } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';

import { type BenchWorld } from '../worlds/objects.js';

const run = promisify(execFile);

/** Karpenter's scheduler on one world. Prices are US dollars per hour. */
export type PeerResult = {
  readonly pods: number;
  readonly unplaced: number;
  readonly nodes: readonly {
    readonly instanceType: string;
    readonly price: number;
    readonly pods: readonly string[];
  }[];
  readonly pricePerHour: number;
  readonly prepareMilliseconds: number;
  readonly solveMilliseconds: number;
  readonly solveCpuMilliseconds: number;
  readonly maxResidentBytes: number;
};

const source = new URL('./../peers/karpenter-plan/', import.meta.url).pathname;
const binary = new URL('./../peers/bin/karpenter-plan', import.meta.url).pathname;

/**
 * The KWOK provider takes this off each type. Adding it here gives both sides the same allocatable.
 */
const kwokOverhead: Resources = { cpu: 100, memory: 10 * 1024 ** 2 };

const quantity = (name: string, amount: number): string =>
  name === 'cpu' ? `${amount}m` : String(amount);
const quantities = (resources: Resources): Record<string, string> =>
  Object.fromEntries(
    Object.entries(resources).map(([name, amount]) => [name, quantity(name, amount)]),
  );

function kwokType(type: InstanceType): object {
  const resources = Object.fromEntries(
    Object.entries(type.allocatable).map(([name, amount]) => [
      name,
      amount + (kwokOverhead[name] ?? 0),
    ]),
  );
  const only = (key: string, value: string): object => ({ key, operator: 'In', values: [value] });
  return {
    name: type.name,
    architecture: [...(type.requirements.get('kubernetes.io/arch')?.values ?? ['amd64'])][0],
    operatingSystems: ['linux'],
    resources: quantities(resources),
    offerings: type.offerings
      .filter((one) => one.available)
      .map((one) => ({
        Price: one.priceMicrosPerHour / 1e6,
        Available: true,
        Requirements: [
          only('karpenter.sh/capacity-type', one.capacityType),
          only('topology.kubernetes.io/zone', one.zone),
        ],
      })),
  };
}

const selectorOf = (selector: LabelSelector | undefined): object => ({
  matchLabels: Object.fromEntries(
    (selector?.requirements ?? []).map((one) => [one.key, one.values[0]]),
  ),
});
const termOf = (term: PodAffinityTerm): object => ({
  topologyKey: term.topologyKey,
  labelSelector: selectorOf(term.selector),
});
const required = (terms: readonly PodAffinityTerm[]): object => ({
  requiredDuringSchedulingIgnoredDuringExecution: terms.map(termOf),
});

/**
 * A pod as Kubernetes writes it, with the parts that the generated worlds use: requests, labels,
 * spread and required (anti-)affinity.
 */
function manifestOf(pod: Pod): object {
  const { pods: _counted, ...requests } = pod.requests;
  const affinity = {
    ...(pod.requiredPodAffinity.length > 0
      ? { podAffinity: required(pod.requiredPodAffinity) }
      : {}),
    ...(pod.requiredPodAntiAffinity.length > 0
      ? { podAntiAffinity: required(pod.requiredPodAntiAffinity) }
      : {}),
  };
  return {
    metadata: { namespace: pod.namespace, labels: pod.labels },
    spec: {
      containers: [{ name: 'app', image: 'app', resources: { requests: quantities(requests) } }],
      affinity,
      topologySpreadConstraints: pod.topologySpread.map((one) => ({
        maxSkew: one.maxSkew,
        topologyKey: one.topologyKey,
        whenUnsatisfiable: one.whenUnsatisfiable,
        labelSelector: selectorOf(one.selector),
      })),
    },
  };
}

function groupsOf(pods: readonly Pod[]): readonly object[] {
  const groups = new Map<string, { names: string[]; pod: object }>();
  for (const pod of pods) {
    const manifest = manifestOf(pod);
    const text = JSON.stringify(manifest);
    const group = groups.get(text) ?? { names: [], pod: manifest };
    group.names.push(pod.name);
    groups.set(text, group);
  }
  return [...groups.values()];
}

const poolManifest = (pool: Pool): object => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: pool.identity.name, uid: pool.uid },
  spec: {
    template: {
      spec: {
        requirements: [],
        nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
      },
    },
    ...(Object.keys(pool.limits).length > 0 ? { limits: quantities(pool.limits) } : {}),
  },
});

function worldText(world: BenchWorld): string {
  const daemonSets = world.snapshot.daemonSets.map(({ name, namespace, uid, template }) => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, uid },
    spec: {
      selector: { matchLabels: { name } },
      template: manifestOf({ ...template, labels: { name } }),
    },
  }));
  return JSON.stringify({
    pods: groupsOf(world.pods),
    daemonSets,
    nodePools: world.snapshot.pools.map(({ pool }) => poolManifest(pool)),
  });
}

/**
 * Builds the peer if it is missing. Returns false, and prints the reason, without Go or its
 * modules.
 */
export async function buildPeer(tell: (text: string) => void): Promise<boolean> {
  if (existsSync(binary)) return true;
  tell("building Karpenter's scheduler (Go), a minute or two\n");
  try {
    await run('go', ['build', '-o', binary, '.'], { cwd: source });
    return true;
  } catch (error) {
    tell(
      `without Karpenter: it cannot be built here (${messageOf(error).split('\n').slice(0, 3).join(' ')})\n`,
    );
    return false;
  }
}

/** Plans a world with Karpenter's scheduler, in a process of its own. */
export async function planWithPeer(world: BenchWorld): Promise<PeerResult> {
  const folder = await mkdtemp(join(tmpdir(), 'planner-'));
  try {
    const types = new Map(
      world.snapshot.pools.flatMap(({ instanceTypes }) =>
        instanceTypes.map((type) => [type.name, type] as const),
      ),
    );
    await writeFile(join(folder, 'types.json'), JSON.stringify([...types.values()].map(kwokType)));
    await writeFile(join(folder, 'world.json'), worldText(world));
    const { stdout } = await run(
      binary,
      ['-catalog', join(folder, 'types.json'), '-world', join(folder, 'world.json')],
      { maxBuffer: 1 << 28 },
    );
    return JSON.parse(stdout) as PeerResult;
  } finally {
    await rm(folder, { recursive: true });
  }
}
