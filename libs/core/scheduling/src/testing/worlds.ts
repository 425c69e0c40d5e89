import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { type DaemonSet, type Pod, requirementsOf, type Taint } from '@dovetail/core-kube-model';

import { defaultPlanOptions } from '../options.js';
import type { ExistingNode, PlanOptions, Snapshot } from '../snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  mebibytes,
  nodeOf,
  offeringOf,
  poolOf,
  snapshotOf,
  typeOf,
} from './objects.js';
import { Random } from './random.js';
import { withInheritedKeys } from './world-keys.js';
import { capacityKey, typeKey, workload, zoneKey, zones } from './world-workloads.js';

/** A generated case: everything that a plan is made from. */
export type GeneratedWorld = {
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
  readonly options: PlanOptions;
};

/**
 * A catalog like EC2's in small: three families, sizes by doubling, two architectures, spot in some
 * zones only.
 */
export function familyTypes(random?: Random): readonly InstanceType[] {
  return (['c', 'm', 'r'] as const).flatMap((family, at) =>
    (['amd64', 'arm64'] as const).flatMap((arch) =>
      [1, 2, 4, 8, 16, 32].map((cores) => {
        const memory = cores * 2 * 2 ** at;
        const price = 1e6 * cores * (0.0425 + 0.006 * at) * (arch === 'arm64' ? 0.8 : 1);
        const missing = random === undefined ? [] : zones.filter(() => random.chance(0.1));
        return typeOf({
          name: `${family}${arch === 'arm64' ? 'g' : ''}.${cores}`,
          cpuMillis: cores * 1000,
          memoryBytes: gibibytes(memory),
          pods: 8 + 10 * cores,
          arch,
          overhead: { cpu: 80, memory: mebibytes(255 + 11 * cores) },
          labels: {
            'karpenter.k8s.aws/instance-family': family,
            'karpenter.k8s.aws/instance-cpu': String(cores),
          },
          ...(cores === 16 && family === 'c' ? { resources: { 'nvidia.com/gpu': 1 } } : {}),
          offerings: zones.flatMap((zone, index) => [
            offeringOf(zone, 'on-demand', price, { available: !missing.includes(zone) }),
            ...(index < 2
              ? [
                  offeringOf(zone, 'spot', price * (0.35 + 0.07 * index + 0.01 * at), {
                    available: !missing.includes(zone),
                  }),
                ]
              : []),
          ]),
        });
      }),
    ),
  );
}

function poolsOf(random: Random): readonly Pool[] {
  const taint: Taint = {
    key: 'dedicated',
    value: 'batch',
    effect: random.pick(['NoSchedule', 'NoExecute', 'PreferNoSchedule']),
  };
  const first = poolOf('default', {
    weight: random.pick([0, 0, 10]),
    labels: random.chance(0.3) ? { team: 'blue' } : {},
    limits: random.chance(0.25) ? { cpu: random.pick([8, 24, 64, 200]) * 1000 } : {},
    requirements: [
      {
        key: 'kubernetes.io/arch',
        operator: 'In',
        values: random.chance(0.5) ? ['amd64'] : ['amd64', 'arm64'],
      },
      {
        key: capacityKey,
        operator: 'In',
        values: random.pick([['on-demand'], ['spot', 'on-demand'], ['spot']]),
      },
      ...(random.chance(0.3)
        ? [{ key: 'team', operator: 'In' as const, values: ['blue', 'red'] }]
        : []),
      ...(random.chance(0.2)
        ? [
            {
              key: typeKey,
              operator: 'Exists' as const,
              values: [],
              minValues: random.pick([2, 5, 20]),
            },
          ]
        : []),
    ],
    ...(random.chance(0.15) ? { maxPriceMicrosPerHour: random.pick([200_000, 800_000]) } : {}),
  });
  const second = poolOf('batch', {
    weight: random.pick([0, 5]),
    taints: [taint],
    limits: random.chance(0.2) ? { nodes: random.pick([1, 3]) } : {},
    requirements: [
      {
        key: zoneKey,
        operator: 'In',
        values: random.pick([['zone-a'], ['zone-a', 'zone-b', 'zone-c']]),
      },
      { key: 'workload', operator: 'Exists', values: [] },
    ],
  });
  const broken = poolOf('broken', { ready: false, weight: 50 });
  return random.chance(0.6)
    ? [first, second]
    : random.chance(0.5)
      ? [first]
      : [first, second, broken];
}

function nodesOf(random: Random, count: number): readonly ExistingNode[] {
  return Array.from({ length: count }, (_, index) => {
    const zone = random.pick(zones);
    const cores = random.pick([2, 4, 8]);
    const capacity = {
      cpu: cores * 1000,
      memory: gibibytes(cores * 4),
      pods: 20,
      'ephemeral-storage': gibibytes(20),
    };
    const inFlight = random.chance(0.15);
    return nodeOf(`node-${index}`, {
      state: inFlight ? 'in-flight' : random.pick(['ready', 'ready', 'uninitialized', 'deleting']),
      cordoned: random.chance(0.1),
      capacity,
      allocatable: { ...capacity, cpu: capacity.cpu - 80 },
      labels: {
        ...(inFlight ? {} : { [zoneKey]: zone }),
        [capacityKey]: 'on-demand',
        [typeKey]: `m.${cores}`,
        'karpenter.sh/nodepool': 'default',
        ...(random.chance(0.3) ? { team: 'blue' } : {}),
      },
      requirements: inFlight
        ? requirementsOf([
            {
              key: zoneKey,
              operator: 'In',
              values: random.pick([['zone-a'], ['zone-a', 'zone-b']]),
            },
          ])
        : new Map(),
      taints: random.chance(0.1)
        ? [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' }]
        : [],
      ...(random.chance(0.8) ? { poolKey: 'NodePool/default' } : {}),
      pods: workload(random, `running-${index}`, random.below(4)).map((pod) => ({
        ...pod,
        nodeName: `node-${index}`,
        phase: 'Running' as const,
        volumes: [],
      })),
      promisedPods: random.chance(0.2)
        ? workload(random, `promised-${index}`, 1).map((pod) => ({ ...pod, volumes: [] }))
        : [],
      reserved: random.chance(0.1) ? { cpu: 500 } : {},
    });
  });
}

function daemonSetsOf(random: Random): readonly DaemonSet[] {
  return [
    daemonSetOf('agent', {
      requests: { cpu: 100, memory: mebibytes(128), pods: 1 },
      tolerations: [{ operator: 'Exists' }],
    }),
    ...(random.chance(0.5)
      ? [
          daemonSetOf('arm-only', {
            requests: { cpu: 200, memory: mebibytes(256), pods: 1 },
            nodeSelector: { 'kubernetes.io/arch': 'arm64' },
          }),
        ]
      : []),
    ...(random.chance(0.3)
      ? [
          daemonSetOf('web', {
            requests: { cpu: 50, memory: mebibytes(32), pods: 1 },
            hostPorts: [{ ip: '', port: 443, protocol: 'TCP' }],
            nodeSelector: { 'karpenter.k8s.aws/instance-family': 'c' },
          }),
        ]
      : []),
  ];
}

function volumesOf(): Pick<
  Snapshot,
  'persistentVolumes' | 'persistentVolumeClaims' | 'storageClasses' | 'csiNodes'
> {
  const inZone = (zone: string) => [
    {
      matchExpressions: [{ key: zoneKey, operator: 'In' as const, values: [zone] }],
      matchFields: [],
    },
  ];
  const claim = (name: string, over: object) => ({
    uid: `pvc-${name}`,
    namespace: 'default',
    name,
    resourceVersion: '1',
    phase: 'Bound' as const,
    bindCompleted: true,
    ...over,
  });
  return {
    persistentVolumes: [
      {
        uid: 'pv-a',
        name: 'pv-a',
        resourceVersion: '1',
        nodeAffinity: inZone('zone-a'),
        driver: 'ebs.csi.aws.com',
        local: false,
      },
      {
        uid: 'pv-b',
        name: 'pv-b',
        resourceVersion: '1',
        nodeAffinity: [...inZone('zone-b'), ...inZone('zone-c')],
        driver: 'ebs.csi.aws.com',
        local: false,
      },
    ],
    persistentVolumeClaims: [
      claim('bound-a', { volumeName: 'pv-a' }),
      claim('bound-b', { volumeName: 'pv-b' }),
      claim('lost', { phase: 'Lost' as const }),
      claim('waiting', {
        phase: 'Pending' as const,
        bindCompleted: false,
        storageClassName: 'fast',
      }),
    ],
    storageClasses: [
      {
        uid: 'sc-fast',
        name: 'fast',
        resourceVersion: '1',
        createdMs: 0,
        isDefault: true,
        provisioner: 'ebs.csi.aws.com',
        bindingMode: 'WaitForFirstConsumer',
        allowedTopologies: [...inZone('zone-a'), ...inZone('zone-b')],
      },
    ],
    csiNodes: [
      { uid: 'csi-0', name: 'node-0', resourceVersion: '1', limits: { 'ebs.csi.aws.com': 1 } },
    ],
  };
}

/**
 * A generated world whose pools are Provisioners, for which types of family c, the cheapest, are of
 * a category that does not size nodes.
 */
export function legacyWorld(seed: number): GeneratedWorld {
  const world = mixedWorld(seed);
  const category = (family: string): string => (family === 'c' ? 't' : family);
  const labelled = (type: InstanceType): InstanceType => {
    const [family = ''] = type.requirements.get('karpenter.k8s.aws/instance-family')?.values ?? [];
    return {
      ...type,
      requirements: new Map([
        ...type.requirements,
        ...requirementsOf([
          {
            key: 'karpenter.k8s.aws/instance-category',
            operator: 'In',
            values: [category(family)],
          },
        ]),
      ]),
    };
  };
  const types = (world.snapshot.pools[0]?.instanceTypes ?? []).map(labelled);
  const pools = world.snapshot.pools.map(({ pool }) => ({
    pool: { ...pool, identity: { ...pool.identity, kind: 'Provisioner' as const } },
    instanceTypes: types,
  }));
  const nodes = world.snapshot.nodes.map((node) =>
    node.poolKey === undefined ? node : { ...node, poolKey: 'Provisioner/default' },
  );
  return { ...world, snapshot: { ...world.snapshot, pools, nodes } };
}

/**
 * A small world with a bit of everything, the same for the same seed: for properties that must hold
 * in all of them.
 */
export function mixedWorld(seed: number): GeneratedWorld {
  const random = new Random(seed);
  const types = familyTypes(random);
  const pods = Array.from({ length: 1 + random.below(8) }, (_, index) =>
    workload(random, `w${index}`, random.pick([1, 2, 3, 5, 9, 14])),
  ).flat();
  const snapshot = snapshotOf({
    pools: poolsOf(random).map((pool) => ({ pool, instanceTypes: types })),
    nodes: nodesOf(random, random.pick([0, 0, 2, 5, 8])),
    daemonSets: daemonSetsOf(random),
    namespaces: ['default', 'other'].map((name) => ({
      uid: `ns-${name}`,
      name,
      resourceVersion: '1',
      labels: { name },
    })),
    ...volumesOf(),
  });
  const options: PlanOptions = {
    ...defaultPlanOptions,
    seed,
    stepsMax: random.pick([0, 0, 40]),
    preferencePolicy: random.pick(['Respect', 'Respect', 'Ignore']),
    minValuesPolicy: random.pick(['Strict', 'BestEffort']),
    hostnameSpread: random.pick(['balanced', 'strict']),
    instanceTypesMax: random.pick([600, 600, 5]),
  };
  // With numbers of its own, so that the rest of each world does not depend on the keys.
  return withInheritedKeys(new Random(seed + 1_000_003), { snapshot, pods, options });
}
