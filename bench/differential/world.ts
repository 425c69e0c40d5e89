import type { Pool } from '@dovetail/core-api';
import { poolValue } from '@dovetail/core-api/testing';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import {
  type DaemonSet,
  type Pod,
  type PodAffinityTerm,
  requirementsOf,
  type RequirementSpec,
  type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';
import type { ExistingNode } from '@dovetail/core-scheduling';
import { existingNodeValue, Random, snapshotOf } from '@dovetail/core-scheduling/testing';

import {
  type BenchWorld,
  daemonSetOf,
  gibibyte,
  hostKey,
  mebibyte,
  podOf,
  selecting,
  zoneKey,
} from '../worlds/objects.js';

const capacityKey = 'karpenter.sh/capacity-type';
const archKey = 'kubernetes.io/arch';
const osKey = 'kubernetes.io/os';
const typeKey = 'node.kubernetes.io/instance-type';
const zones = ['zone-a', 'zone-b', 'zone-c'] as const;
const apps = ['v', 'w', 'x'] as const;
const taint = { key: 't', value: '1' } as const;

const within = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});

function typeOf(name: string, cores: number, gibibytes: number, price: number): InstanceType {
  const capacity = {
    cpu: cores * 1000,
    memory: gibibytes * gibibyte,
    pods: 110,
    'ephemeral-storage': 20 * gibibyte,
  };
  const offerings = zones.flatMap((zone): readonly Offering[] =>
    (['on-demand', 'spot'] as const).map((capacityType) => ({
      zone,
      capacityType,
      priceMicrosPerHour: capacityType === 'spot' ? price / 2 : price,
      available: true,
      priceEstimated: false,
    })),
  );
  return {
    name,
    requirements: requirementsOf([
      within(typeKey, name),
      within(archKey, 'amd64'),
      within(osKey, 'linux'),
      within(zoneKey, ...zones),
      within(capacityKey, 'on-demand', 'spot'),
    ]),
    offerings,
    capacity,
    allocatable: { ...capacity, cpu: capacity.cpu - 100, memory: capacity.memory - 10 * mebibyte },
  };
}

/** The types of every world: two families, of which the larger are no cheaper per core. */
const types: readonly InstanceType[] = [
  typeOf('c-2', 2, 4, 80_000),
  typeOf('m-2', 2, 8, 100_000),
  typeOf('m-4', 4, 16, 200_000),
  typeOf('m-8', 8, 32, 400_000),
  typeOf('m-16', 16, 64, 800_000),
];

function poolsOf(random: Random): readonly Pool[] {
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, index) =>
    poolValue(`pool${index}`, {
      weight: random.pick([0, 0, 0, 5, 10]),
      limits: random.chance(0.2) ? { cpu: random.pick([4000, 8000, 16_000]) } : {},
      labels: random.chance(0.15) ? { team: random.pick(['a', 'b']) } : {},
      taints: random.chance(0.2)
        ? [{ ...taint, effect: random.pick(['NoSchedule', 'PreferNoSchedule']) }]
        : [],
      requirements: [
        within(zoneKey, ...random.pick([zones, zones, ['zone-a', 'zone-c'], ['zone-b']])),
        within(capacityKey, ...random.pick([['on-demand'], ['spot'], ['on-demand', 'spot']])),
        within(archKey, 'amd64'),
        within(osKey, 'linux'),
        ...(random.chance(0.15) ? [within(typeKey, 'm-8', 'm-16')] : []),
      ],
    }),
  );
}

function spreadOf(random: Random, app: string): TopologySpreadConstraint {
  return {
    maxSkew: random.pick([1, 1, 2]),
    topologyKey: random.pick([zoneKey, zoneKey, hostKey, capacityKey]),
    whenUnsatisfiable: random.pick(['DoNotSchedule', 'DoNotSchedule', 'ScheduleAnyway']),
    selector: selecting({ app }),
    nodeAffinityPolicy: 'Honor',
    nodeTaintsPolicy: 'Ignore',
  };
}

function rulesOf(random: Random, app: string): Partial<Pod> {
  const term = (): PodAffinityTerm => ({
    topologyKey: random.pick([zoneKey, hostKey]),
    selector: selecting({ app: random.pick([app, app, ...apps]) }),
    namespaces: [],
  });
  const inZone = (zone: string) => ({ matchExpressions: [within(zoneKey, zone)], matchFields: [] });
  return {
    ...(random.chance(0.4) ? { topologySpread: [spreadOf(random, app)] } : {}),
    ...(random.chance(0.15) ? { requiredPodAntiAffinity: [term()] } : {}),
    ...(random.chance(0.1) ? { requiredPodAffinity: [term()] } : {}),
    ...(random.chance(0.1) ? { preferredPodAntiAffinity: [{ weight: 1, term: term() }] } : {}),
    ...(random.chance(0.1) ? { nodeSelector: { [zoneKey]: random.pick(zones) } } : {}),
    ...(random.chance(0.1)
      ? { preferredNodeAffinity: [{ weight: 1, term: inZone(random.pick(zones)) }] }
      : {}),
    ...(random.chance(0.3) ? { tolerations: [{ key: 't', operator: 'Exists' as const }] } : {}),
  };
}

function podsOf(random: Random): readonly Pod[] {
  const created = 1_700_000_000_000;
  return apps.slice(0, 1 + random.below(3)).flatMap((app) => {
    const over = {
      labels: { app },
      createdMs: created,
      requests: {
        cpu: random.pick([100, 100, 400, 900, 1800]),
        memory: random.pick([64, 256, 1024, 3072]) * mebibyte,
        pods: 1,
      },
      ...rulesOf(random, app),
    };
    return Array.from({ length: random.pick([1, 2, 3, 4, 6]) }, (_, index) =>
      podOf(`${app}-${index}`, over),
    );
  });
}

function nodesOf(random: Random): readonly ExistingNode[] {
  return Array.from({ length: random.pick([0, 0, 1, 2, 3]) }, (_, index) => {
    const name = `node${index}`;
    const capacity = {
      cpu: random.pick([1000, 2000, 4000]),
      memory: 16 * gibibyte,
      pods: 110,
      'ephemeral-storage': 20 * gibibyte,
    };
    return existingNodeValue(name, {
      capacity,
      allocatable: capacity,
      labels: {
        [zoneKey]: random.pick(zones),
        [capacityKey]: 'on-demand',
        [typeKey]: 'm-4',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
      },
      pods: Array.from({ length: random.below(3) }, (_none, at) =>
        podOf(`running-${index}-${at}`, {
          labels: { app: random.pick(apps) },
          phase: 'Running',
          nodeName: name,
          requests: { cpu: 200, memory: 64 * mebibyte, pods: 1 },
        }),
      ),
    });
  });
}

const daemonSetsOf = (random: Random): readonly DaemonSet[] =>
  random.chance(0.3) ? [daemonSetOf('agent', random.pick([100, 300]), 64)] : [];

/**
 * A small world with the rules that users combine, the same for the same seed. It has up to 18 pods
 * of three workloads, three pools and three nodes.
 */
export function smallWorld(seed: number): BenchWorld {
  const random = new Random(seed);
  const pools = poolsOf(random).map((pool) => ({ pool, instanceTypes: types }));
  const nodes = nodesOf(random);
  const daemonSets = daemonSetsOf(random);
  return {
    name: `seed ${seed}`,
    snapshot: snapshotOf({ pools, nodes, daemonSets }),
    pods: podsOf(random),
  };
}
