import { catalogFor } from '@dovetail/core-ec2-model';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type { Pod } from '@dovetail/core-kube-model';
import type { Snapshot } from '../snapshot.js';
import { daemonSetOf, gibibytes, mebibytes, offeringOf, podOf, poolOf, selecting, snapshotOf, typeOf } from './objects.js';
import { Random } from './random.js';

const zones = ['us-east-1a', 'us-east-1b', 'us-east-1c'] as const;

/** Real c, m and r types for amd64 of generation 5 and later, on demand in us-east-1, at most so many cores. */
export function realTypes(coresMax: number): readonly InstanceType[] {
  return catalogFor('us-east-1').flatMap(({ facts, onDemandPriceMicrosPerHour: price }) => {
    if (price === undefined || !/^[cmr][5-9][a-z0-9]*\./.test(facts.name) || facts.name.includes('metal') || facts.arch !== 'amd64' || facts.vcpus > coresMax) return [];
    const cpuMillis = facts.vcpus * 1000;
    return [typeOf({
      name: facts.name, cpuMillis, memoryBytes: mebibytes(Math.floor(facts.memoryMib * 0.925)), pods: facts.network.interfacesMax * (facts.network.ipv4PerInterface - 1) + 2, overhead: { cpu: 80, memory: mebibytes(355) },
      offerings: zones.map((zone) => offeringOf(zone, 'on-demand', price)),
    })];
  });
}

export type PlainSpec = { readonly pods: number; readonly seed: number; readonly coresMax: number; readonly spread?: boolean };

/** Workloads as clusters have them: log-normal requests, heavy-tailed replicas, two daemonsets; spread where asked for. */
export function plainWorld(spec: PlainSpec): { readonly snapshot: Snapshot; readonly pods: readonly Pod[] } {
  const random = new Random(spec.seed);
  const pods: Pod[] = [];
  for (let app = 0; pods.length < spec.pods; app += 1) {
    const replicas = Math.min(spec.pods - pods.length, Math.max(1, Math.floor(1.5 / random.next() ** 0.8)), Math.ceil(spec.pods / 5));
    const cpu = Math.min(8000, Math.max(10, Math.round(Math.exp(Math.log(300) + 1.0 * random.normal()) / 10) * 10));
    const memory = mebibytes(Math.min(32_768, Math.max(32, Math.round((cpu * Math.exp(Math.log(3) + 0.8 * random.normal())) / 16) * 16)));
    const labels = { app: `app-${app}` };
    const kind = spec.spread === true ? random.below(5) : 4;
    const constraint = (topologyKey: string) => ({ topologyKey, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' as const, selector: selecting(labels), nodeAffinityPolicy: 'Honor' as const, nodeTaintsPolicy: 'Ignore' as const });
    const over: Partial<Pod> = kind === 0 ? { topologySpread: [constraint('topology.kubernetes.io/zone')] }
      : kind === 1 && replicas <= 40 ? { topologySpread: [constraint('kubernetes.io/hostname')] }
        : kind === 2 && replicas <= 12 ? { requiredPodAntiAffinity: [{ topologyKey: 'kubernetes.io/hostname', selector: selecting(labels), namespaces: [] }] } : {};
    for (let index = 0; index < replicas; index += 1) pods.push(podOf(`app-${app}-${index}`, { labels, requests: { cpu, memory, pods: 1 }, ...over }));
  }
  const daemonSets = [daemonSetOf('agent', { requests: { cpu: 100, memory: mebibytes(128), pods: 1 } }), daemonSetOf('logs', { requests: { cpu: 150, memory: mebibytes(384), pods: 1 } })];
  return { pods, snapshot: snapshotOf({ pools: [{ pool: poolOf('default', { limits: { cpu: 1e9, memory: gibibytes(1e6) } }), instanceTypes: realTypes(spec.coresMax) }], daemonSets }) };
}
