import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import type { Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import { defaultPlanOptions, plan } from '@dovetail/core-scheduling';
import Table from 'cli-table3';

import { keepRun } from './kept.js';
import { podOf, snapshotOf } from './worlds/objects.js';
import { realTypes } from './worlds/real-types.js';

const flags = {
  pods: { type: 'string', default: '1000' },
  /** The bytes of the list in the large pod's manifest. The API server takes 1.5 MiB. */
  bytes: { type: 'string', default: '1400000' },
  only: { type: 'string' },
} as const;

/** The requests of each of the other pods. */
const small = { cpu: 100, memory: 128 * 1024 ** 2, pods: 1 };
/** The processor time that the large pod may add to a batch. Milliseconds. */
const wantedMs = 200;

const mates = (index: number): PodAffinityTerm => ({
  topologyKey: `k${String(index)}`,
  namespaces: [],
  selector: { requirements: [{ key: 'app', operator: 'In', values: ['zz'] }] },
});
const node = (index: number) => ({
  matchExpressions: [{ key: `k${String(index)}`, operator: 'Exists' as const, values: [] }],
  matchFields: [],
});
const spread = (index: number, whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway') => ({
  ...{ maxSkew: 1, topologyKey: `k${String(index)}`, whenUnsatisfiable },
  selector: { requirements: [{ key: 'app', operator: 'In' as const, values: ['zz'] }] },
  ...{ nodeAffinityPolicy: 'Honor' as const, nodeTaintsPolicy: 'Ignore' as const },
});

const nodeKeys = [
  ...['topology.kubernetes.io/zone', 'node.kubernetes.io/instance-type', 'kubernetes.io/hostname'],
  ...['kubernetes.io/arch', 'kubernetes.io/os', 'karpenter.sh/capacity-type'],
  ...['category', 'family', 'generation', 'size', 'cpu', 'memory', 'network-bandwidth'].map(
    (name) => `karpenter.k8s.aws/instance-${name}`,
  ),
];

/** A list of a pod: one entry of it in a manifest, and the pod with so many of them. */
type Kind = readonly [entry: string, podWith: (count: number) => Partial<Pod>];

const weighted = (index: number) => ({ weight: (index % 100) + 1, term: mates(index) });
const listOf = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const affinityEntry = '{"topologyKey":"k1","labelSelector":{"matchLabels":{"app":"zz"}}},';
const spreadEntry =
  '{"maxSkew":1,"topologyKey":"k1","whenUnsatisfiable":"DoNotSchedule","labelSelector":{}},';

const kinds: Readonly<Record<string, Kind>> = {
  'preferred pod affinity': [
    `{"weight":1,"podAffinityTerm":${affinityEntry}}`,
    (count) => ({ preferredPodAffinity: listOf(count, weighted) }),
  ],
  'preferred pod anti-affinity': [
    `{"weight":1,"podAffinityTerm":${affinityEntry}}`,
    (count) => ({ preferredPodAntiAffinity: listOf(count, weighted) }),
  ],
  'preferred node affinity': [
    '{"weight":1,"preference":{"matchExpressions":[{"key":"k1","operator":"Exists"}]}},',
    (count) => ({
      preferredNodeAffinity: listOf(count, (index) => ({ weight: 1, term: node(index) })),
    }),
  ],
  'required node affinity': [
    '{"matchExpressions":[{"key":"k1","operator":"Exists"}]},',
    (count) => ({ requiredNodeAffinity: listOf(count, node) }),
  ],
  'values of one expression': [
    '"v12345",',
    (count) => ({
      requiredNodeAffinity: [
        {
          matchFields: [],
          matchExpressions: [
            {
              key: 'topology.kubernetes.io/zone',
              operator: 'NotIn',
              values: listOf(count, (index) => `v${String(index)}`),
            },
          ],
        },
      ],
    }),
  ],
  'expressions of one term': [
    '{"key":"k1","operator":"DoesNotExist"},',
    (count) => ({
      requiredNodeAffinity: [
        {
          matchFields: [],
          matchExpressions: listOf(count, (index) => ({
            ...{ key: `k${String(index)}`, operator: 'DoesNotExist' as const, values: [] },
          })),
        },
      ],
    }),
  ],
  'required pod affinity': [
    affinityEntry,
    (count) => ({ requiredPodAffinity: listOf(count, mates) }),
  ],
  'required pod anti-affinity': [
    affinityEntry,
    (count) => ({ requiredPodAntiAffinity: listOf(count, mates) }),
  ],
  'topology spread that must hold': [
    spreadEntry,
    (count) => ({ topologySpread: listOf(count, (index) => spread(index, 'DoNotSchedule')) }),
  ],
  'topology spread that may break': [
    spreadEntry,
    (count) => ({ topologySpread: listOf(count, (index) => spread(index, 'ScheduleAnyway')) }),
  ],
  'spread over every label of a node': [
    'x'.repeat(60),
    (count) => ({
      topologySpread: listOf(count, (index) => ({
        ...spread(index, 'DoNotSchedule'),
        topologyKey: nodeKeys[index % nodeKeys.length] as string,
        selector: { requirements: [{ key: 'app', operator: 'In', values: [`v${String(index)}`] }] },
      })),
    }),
  ],
  'preferred affinity over every label of a node': [
    'x'.repeat(95),
    (count) => ({
      labels: { app: 'zz' },
      preferredPodAffinity: listOf(count, (index) => ({
        weight: 1,
        term: {
          ...mates(index),
          topologyKey: nodeKeys[index % nodeKeys.length] as string,
          selector: {
            requirements: [
              { key: 'app', operator: 'In', values: ['zz'] },
              { key: `k${String(index)}`, operator: 'DoesNotExist', values: [] },
            ],
          },
        },
      })),
    }),
  ],
  tolerations: [
    '{"key":"k12345","operator":"Exists"},',
    (count) => ({
      tolerations: listOf(count, (index) => ({ key: `k${String(index)}`, operator: 'Exists' })),
    }),
  ],
  'host ports': [
    '{"containerPort":1,"hostPort":1},',
    (count) => ({
      hostPorts: listOf(Math.min(count, 65_535), (index) => ({
        ...{ ip: '0.0.0.0', port: index + 1, protocol: 'TCP' as const },
      })),
    }),
  ],
  'node selector': [
    '"k12345":"a",',
    (count) => ({
      nodeSelector: Object.fromEntries(listOf(count, (index) => [`k${String(index)}`, 'a'])),
    }),
  ],
  'resource names': [
    '"example.com/k12345":"1",',
    (count) => ({
      requests: {
        ...{ cpu: 100, pods: 1 },
        ...Object.fromEntries(listOf(count, (index) => [`example.com/k${String(index)}`, 1])),
      },
    }),
  ],
  labels: [
    '"k12345":"a",',
    (count) => ({
      labels: Object.fromEntries(listOf(count, (index) => [`k${String(index)}`, 'a'])),
    }),
  ],
  volumes: [
    '{"name":"v12345","persistentVolumeClaim":{"claimName":"v12345"}},',
    (count) => ({ volumes: listOf(count, (index) => ({ claimName: `v${String(index)}` })) }),
  ],
};

function costMs(pods: readonly Pod[], snapshot: ReturnType<typeof snapshotOf>): number {
  const before = process.cpuUsage();
  plan(snapshot, pods, defaultPlanOptions);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** One run, as a line of `bench/results/largest-pod.ndjson`. */
type LargestPodResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly pods: number;
  readonly bytes: number;
  readonly aloneMs: number;
  /** The processor time that the pod adds, by its kind. Milliseconds. */
  readonly addedMs: Readonly<Record<string, number>>;
};

/** The processor time that one pod of the largest size adds to a batch of others, by its kind. */
export async function largestPod(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: flags });
  const [pods, bytes] = [Number(values.pods), Number(values.bytes)];
  const loadBefore = loadavg()[0] ?? 0;
  const snapshot = snapshotOf(realTypes(96), []);
  const others = listOf(pods, (index) => podOf(`other-${String(index)}`, { requests: small }));
  const leastMs = (more: readonly Pod[]): number =>
    Math.min(...listOf(3, () => costMs([...others, ...more], snapshot)));
  // The first plans are slower: they are compiled.
  leastMs([]);
  const aloneMs = leastMs([]);
  const addedMs: Record<string, number> = {};
  for (const [name, [entry, podWith]] of Object.entries(kinds)) {
    if (values.only !== undefined && !name.includes(values.only)) continue;
    const count = Math.floor(bytes / entry.length);
    addedMs[name] = Math.round(leastMs([podOf('large', podWith(count))]) - aloneMs);
  }
  show(addedMs);
  const at = new Date().toISOString();
  const run = { at, cpus: cpus().length, loadBefore, pods, bytes, aloneMs, addedMs };
  if (values.only === undefined) await keepRun<LargestPodResults>('largest-pod', run);
}

function show(addedMs: Readonly<Record<string, number>>): void {
  const table = new Table({ head: ['a pod of the largest size, of', 'adds (ms)', 'wanted'] });
  for (const [name, ms] of Object.entries(addedMs))
    table.push([name, String(ms), ms <= wantedMs ? 'met' : 'missed']);
  process.stdout.write(`${table.toString()}\n`);
  const missed = Object.values(addedMs).filter((ms) => ms > wantedMs).length;
  process.stdout.write(
    `${String(missed)} of ${String(Object.keys(addedMs).length)} kinds add more than ${String(wantedMs)} ms of processor time\n`,
  );
}
