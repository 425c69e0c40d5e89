import type { InstanceType } from '@dovetail/core-ec2-model';
import { at } from '@dovetail/core-invariant';
import { type Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';

import { assignAll } from '../compose/assign.js';
import { defaultPlanOptions } from '../options.js';
import { emptyBin, putKind, settle } from '../pack/bins.js';
import { packContextOf } from '../pack/context.js';
import { type Kind, kindsOf } from '../pack/kinds.js';
import type { PackBin, PackContext } from '../pack/packing.js';
import { Engine } from '../rooms/engine.js';
import { ItemTable } from '../rooms/items.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { type World, worldOf } from '../world/world.js';
import { gibibytes, offeringOf, podsOf, poolOf, selecting, snapshotOf, typeOf } from './objects.js';
import { familyTypes } from './worlds.js';

/** The input of packing, made from pods and pools as a plan makes it. */
export type Packing = {
  readonly world: World;
  readonly kinds: readonly Kind[];
  readonly context: PackContext;
  /** The kind of the pods whose names begin so. Throws when there is none. */
  readonly kind: (prefix: string) => Kind;
};

/** Instance types by cores, GiB and price; each in two zones, at most 110 pods. */
export const typesBy = (
  ...rows: readonly (readonly [cores: number, gib: number, price: number])[]
): readonly InstanceType[] =>
  rows.map(([cores, gib, price]) =>
    typeOf({
      name: `c${cores}-m${gib}`,
      cpuMillis: cores * 1000,
      memoryBytes: gibibytes(gib),
      offerings: ['zone-a', 'zone-b'].map((zone) => offeringOf(zone, 'on-demand', price)),
    }),
  );

/** The requests of a pod. */
export const asking = (cores: number, gib: number): Pick<Pod, 'requests'> => ({
  requests: { cpu: cores * 1000, memory: gibibytes(gib), pods: 1 },
});

/** Pods, and the nodes to pack them on: one pool without restrictions unless told otherwise. */
export function packingOf(
  pods: readonly Pod[],
  over: {
    readonly types?: readonly InstanceType[];
    readonly snapshot?: Partial<Snapshot>;
    readonly options?: Partial<PlanOptions>;
  } = {},
): Packing {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: over.types ?? familyTypes() }],
    ...over.snapshot,
  });
  const world = worldOf(snapshot, pods, { ...defaultPlanOptions, ...over.options });
  const base = new Engine(world);
  const kinds = kindsOf(world, assignAll(base, new ItemTable(), 'emptiest').assigned);
  return {
    world,
    kinds,
    context: packContextOf(world, kinds, base.ledger.hostFloors),
    kind: (prefix) => {
      const found = kinds.find(({ items }) =>
        items.some(({ item }) => item.cls.uids[0]?.startsWith(prefix)),
      );
      if (found === undefined) throw new Error(`no kind of the pods named ${prefix}`);
      return found;
    },
  };
}

/** A node with so many pods of each kind, on the cheapest offer that holds them. */
export function binWith(
  { context, kind }: Packing,
  contents: Readonly<Record<string, number>>,
  id = 0,
): PackBin {
  const [state] = Object.keys(contents).map((prefix) => kind(prefix).openings[0]);
  if (state === undefined) throw new Error('a node is opened for its first pods');
  const bin = emptyBin(context, id, state);
  for (const [prefix, count] of Object.entries(contents))
    putKind(context, bin, kind(prefix), count);
  settle(bin);
  return bin;
}

/** How many pods of a kind all nodes hold together. */
export const packed = (bins: readonly PackBin[], { index }: Kind): number =>
  bins.reduce((sum, { contents }) => sum + (contents.get(index) ?? 0), 0);

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));

function ruleFaults(context: PackContext, bin: PackBin): readonly string[] {
  const counts = new Map<number, number>();
  let ports = 0;
  const faults: string[] = [];
  for (const [index, count] of bin.contents) {
    const kind = context.kinds[index] as Kind;
    if (kind.ports.length > 0) ports += count;
    for (const { group, carries, selected } of kind.roles)
      if (carries && selected) counts.set(group.id, (counts.get(group.id) ?? 0) + count);
  }
  for (const { group } of context.kinds.flatMap(({ roles }) => roles)) {
    const floor = group.kind === 'spread' ? (context.hostFloors[group.id] as number) : 0;
    const most = group.kind === 'anti' ? 1 : floor + group.maxSkew;
    const count = counts.get(group.id) ?? 0;
    if (count > most) faults.push(`node ${bin.id} holds ${count} of a group, ${most} may be`);
  }
  if (ports > 1) faults.push(`node ${bin.id} gives one host port to ${ports} pods`);
  return faults;
}

function binFaults(context: PackContext, bin: PackBin): readonly string[] {
  const faults = [...ruleFaults(context, bin)];
  const pods = [...bin.contents.values()];
  if (pods.some((count) => count <= 0)) faults.push(`node ${bin.id} counts pods it does not hold`);
  if (bin.pods !== pods.reduce((sum, count) => sum + count, 0))
    faults.push(`node ${bin.id} says it holds ${bin.pods} pods`);
  const used = bin.used.map((_, r) =>
    [...bin.contents].reduce(
      (sum, [index, count]) => sum + (context.kinds[index]?.requests[r] as number) * count,
      0,
    ),
  );
  if (!used.every((amount, r) => near(bin.used[r] as number, amount)))
    faults.push(`node ${bin.id} says it uses ${bin.used.join()}, not ${used.join()}`);
  const prices = bin.state.offers
    .filter(({ type }) => used.every((amount, r) => amount <= (type.room[r] as number)))
    .map(({ offering }) => offering.priceMicrosPerHour);
  if (bin.price !== Math.min(...prices))
    faults.push(`node ${bin.id} costs ${bin.price}, its pods fit for ${Math.min(...prices)}`);
  for (const index of bin.contents.keys()) {
    const { shape } = context.kinds[index] as Kind;
    if (context.states.after(bin.state, shape) !== bin.state)
      faults.push(`node ${bin.id} may still become what kind ${index} does not allow`);
  }
  return faults;
}

/**
 * Returns the faults of a packing, counted anew from its contents. Each pod must be on one node,
 * every node the cheapest that holds its pods, and no hostname rule or host port broken. Meant for
 * pods whose rules select their own workload alone, and that share at most one host port.
 */
export function faultsOf(context: PackContext, bins: readonly PackBin[]): readonly string[] {
  return [
    ...bins.flatMap((bin) => binFaults(context, bin)),
    ...context.kinds
      .filter((kind) => packed(bins, kind) !== kind.count)
      .map(
        (kind) => `${packed(bins, kind)} of ${kind.count} pods of kind ${kind.index} are packed`,
      ),
  ];
}

const hostname = 'kubernetes.io/hostname';

/** Rules that a workload's pods may follow on nodes, each about the pods labelled with its name. */
export const rules = {
  none: () => ({}),
  apart: (app: string) => ({
    labels: { app },
    requiredPodAntiAffinity: [
      { topologyKey: hostname, selector: selecting({ app }), namespaces: [] },
    ],
  }),
  spread: (app: string) => ({
    labels: { app },
    topologySpread: [
      {
        maxSkew: 1,
        topologyKey: hostname,
        whenUnsatisfiable: 'DoNotSchedule',
        selector: selecting({ app }),
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ],
  }),
  port: () => ({ hostPorts: [{ ip: '', port: 80, protocol: 'TCP' }] }),
  zone: () => ({ nodeSelector: { 'topology.kubernetes.io/zone': 'zone-b' } }),
} satisfies Readonly<Record<string, (app: string) => Partial<Pod>>>;

/** Equal pods: what each asks for, how many there are, and the rule they follow. */
export type Workload = {
  readonly cores: number;
  readonly gib: number;
  readonly count: number;
  readonly rule: keyof typeof rules;
};

/** The pods of some workloads, those of the first named `w0-<n>`. */
export const workloadPods = (workloads: readonly Workload[]): readonly Pod[] =>
  workloads.flatMap(({ cores, gib, count, rule }, index) =>
    podsOf(`w${index}-`, count, { ...asking(cores, gib), ...rules[rule](`w${index}`) }),
  );

/** A few workloads that follow some of the rules given, which a plan of few nodes holds. */
export const workloadsOf = (
  ...allowed: readonly (keyof typeof rules)[]
): fc.Arbitrary<readonly Workload[]> =>
  fc.array(
    fc.record({
      cores: fc.constantFrom(0.25, 0.5, 1, 1.5, 2, 3),
      gib: fc.constantFrom(0.5, 1, 2, 5, 8),
      count: fc.integer({ min: 1, max: 9 }),
      rule: fc.constantFrom(...allowed),
    }),
    { minLength: 1, maxLength: 6 },
  );

/** Each pod on a node of its own. */
export const onePerNode = ({ context, kinds }: Packing): readonly PackBin[] =>
  kinds
    .flatMap((kind) => Array.from({ length: kind.count }, () => kind))
    .map((kind, id) => {
      const bin = emptyBin(context, id, at(kind.openings, 0));
      putKind(context, bin, kind, 1);
      settle(bin);
      return bin;
    });
