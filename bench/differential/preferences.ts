import type { Pod, PodAffinityTerm } from '@dovetail/core-kube-model';
import { admits, requirementsOf, selectorMatches } from '@dovetail/core-kube-model';
import type { Plan } from '@dovetail/core-scheduling';

import { type BenchWorld, hostKey } from '../worlds/objects.js';

/** Where a pod is under a plan: the labels of its node. */
type Seat = { readonly pod: Pod; readonly labels: Readonly<Record<string, string>> };

/** Returns where every pod is, those that run already among them. */
export function seatsOf(world: BenchWorld, plan: Plan): readonly Seat[] {
  const byUid = new Map(world.pods.map((pod) => [pod.uid, pod]));
  const seats = (uids: readonly string[], labels: Seat['labels']): readonly Seat[] =>
    uids.flatMap((uid) => {
      const pod = byUid.get(uid);
      return pod === undefined ? [] : [{ pod, labels }];
    });
  return [
    ...world.snapshot.nodes.flatMap((node) => [
      ...node.pods.map((pod) => ({ pod, labels: node.labels })),
      ...seats(
        plan.placements.flatMap(({ nodeName, podUids }) => (nodeName === node.name ? podUids : [])),
        node.labels,
      ),
    ]),
    ...plan.newNodes.flatMap(({ id, options: [option], podUids }) =>
      seats(podUids, {
        [hostKey]: id,
        'topology.kubernetes.io/zone': option?.zone ?? '',
        'karpenter.sh/capacity-type': option?.capacityType ?? '',
      }),
    ),
  ];
}

/** Returns how many pods that a term selects share the seat's domain, itself left out. */
const mates = (seats: readonly Seat[], seat: Seat, term: PodAffinityTerm): number =>
  seats.filter(
    (other) =>
      other !== seat &&
      selectorMatches(term.selector, other.pod.labels) &&
      other.labels[term.topologyKey] === seat.labels[term.topologyKey],
  ).length;

/** Returns how many pods are beyond the skew of a spread, over these domains at least. */
export function beyondSkew(
  seats: readonly Seat[],
  spread: Pod['topologySpread'][number],
  domains: readonly string[],
): number {
  const counts = new Map(domains.map((domain) => [domain, 0]));
  for (const { pod, labels } of seats) {
    const domain = labels[spread.topologyKey];
    if (domain !== undefined && selectorMatches(spread.selector, pod.labels))
      counts.set(domain, (counts.get(domain) ?? 0) + 1);
  }
  // The emptiest node of a spread over hostnames counts 0, as Karpenter has it.
  const least = spread.topologyKey === hostKey ? 0 : Math.min(...counts.values());
  return [...counts.values()].reduce(
    (sum, count) => sum + Math.max(0, count - least - spread.maxSkew),
    0,
  );
}

/** Returns how many preferences of placed pods a plan does not meet. */
export function unmetPreferences(
  world: BenchWorld,
  plan: Plan,
  domainsOf: (key: string) => readonly string[],
): number {
  const seats = seatsOf(world, plan);
  const planned = new Set(world.pods);
  let unmet = 0;
  const spreads = new Map<string, Pod['topologySpread'][number]>();
  for (const seat of seats.filter(({ pod }) => planned.has(pod))) {
    const { pod, labels } = seat;
    for (const { term } of pod.preferredPodAntiAffinity)
      if (mates(seats, seat, term) > 0) unmet += 1;
    for (const { term } of pod.preferredNodeAffinity)
      for (const [key, set] of requirementsOf(term.matchExpressions))
        if (!admits(set, labels[key] ?? '')) unmet += 1;
    for (const spread of pod.topologySpread)
      if (spread.whenUnsatisfiable === 'ScheduleAnyway')
        spreads.set(JSON.stringify(spread), spread);
  }
  for (const spread of spreads.values())
    unmet += beyondSkew(
      seats,
      spread,
      spread.topologyKey === hostKey ? [] : domainsOf(spread.topologyKey),
    );
  return unmet;
}
