import { labels } from '@dovetail/core-api';
import {
  firstUntolerated,
  type Pod,
  type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';

import type { Violation } from '../plan.js';
import { answersMax, domainsOf, firstRefused, type Host } from './hosts.js';
import { ruleTexts, textOf, type Topology } from './topology.js';

/**
 * The nodes that a constraint counts, each with its domain. Nodes whose domain is undecided are
 * left out.
 */
type Counted = { readonly domainOf: (host: Host) => string | undefined; readonly domains: number };

/**
 * Returns the parts of a pod that decide which nodes its constraint counts (node inclusion
 * policies).
 */
const filterOf = (
  pod: Pod,
  { nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
): readonly string[] => {
  const [affinity, tolerations] = filterTexts(pod);
  return [
    nodeAffinityPolicy === 'Honor' ? (affinity ?? '') : '',
    nodeTaintsPolicy === 'Honor' ? (tolerations ?? '') : '',
  ];
};

// A pod may have thousands of constraints, and each of them reads these parts whole.
const filterTexts = ruleTexts((pod) => [
  textOf([pod.nodeSelector, pod.requiredNodeAffinity ?? null]),
  textOf(pod.tolerations),
]);

/** The texts that identify a pod's spread rules: the constraint, and the nodes that it counts. */
const spreadTexts = ruleTexts((pod) =>
  pod.topologySpread.map((constraint) =>
    textOf([pod.namespace, constraint, ...filterOf(pod, constraint)]),
  ),
);

/** The domain that a node counts in; undefined when the constraint does not count the node. */
function domainCounted(
  host: Host,
  pod: Pod,
  constraint: TopologySpreadConstraint,
): string | undefined {
  if (
    constraint.nodeTaintsPolicy === 'Honor' &&
    firstUntolerated(host.taints, pod.tolerations) !== undefined
  )
    return undefined;
  if (constraint.nodeAffinityPolicy !== 'Ignore' && firstRefused(pod, host) !== undefined)
    return undefined;
  const [domain, ...others] = domainsOf(host, constraint.topologyKey);
  return others.length === 0 ? domain : undefined;
}

// Nodes never change, and thousands of them are asked the same for each bin of a round.
const answers = new WeakMap<Host, Map<string, string | undefined>>();

function countedFor(
  world: Topology,
  filter: string,
  pod: Pod,
  constraint: TopologySpreadConstraint,
): Counted {
  const domainOf = (host: Host): string | undefined => {
    const known = answers.get(host) ?? new Map<string, string | undefined>();
    answers.set(host, known);
    if (!known.has(filter)) {
      if (known.size >= answersMax) known.clear();
      known.set(filter, domainCounted(host, pod, constraint));
    }
    return known.get(filter);
  };
  return { domainOf, domains: world.domains(filter, domainOf) };
}

/**
 * The pods of one domain. `bound` counts pods that run or carry the constraint; `all` also counts
 * pods that are only selected.
 */
type Count = { bound: number; all: number };
type Spread = {
  readonly constraint: TopologySpreadConstraint;
  readonly counts: ReadonlyMap<string, Count>;
  readonly least: number;
};

function spreadOf(
  world: Topology,
  counted: Counted,
  rule: { readonly pod: Pod; readonly constraint: TopologySpreadConstraint; readonly text: string },
): Spread {
  const { pod, constraint, text } = rule;
  const counts = new Map<string, Count>();
  for (const seat of world.matching(constraint.selector, [pod.namespace])) {
    const domain = counted.domainOf(seat.host);
    if (domain === undefined) continue;
    const count = counts.get(domain) ?? { bound: 0, all: 0 };
    counts.set(domain, count);
    count.all += 1;
    if (!seat.planned || spreadTexts(seat.pod).includes(text)) count.bound += 1;
  }
  const emptiestIsZero =
    constraint.topologyKey === labels.hostname && world.options.hostnameSpread === 'strict';
  const tooFew = counted.domains < (constraint.minDomains ?? 1);
  const someEmpty = counts.size < counted.domains;
  const least =
    emptiestIsZero || tooFew || someEmpty || counts.size === 0
      ? 0
      : [...counts.values()].reduce((min, { all }) => Math.min(min, all), Infinity);
  return { constraint, counts, least };
}

function skewAt(host: Host, spread: Spread): readonly Violation[] {
  const { topologyKey, maxSkew } = spread.constraint;
  const domains = domainsOf(host, topologyKey);
  const [domain] = domains;
  if (domains.length !== 1 || domain === undefined)
    return [
      {
        code: 'topology-spread',
        where: host.name,
        message: `the node's ${topologyKey} is ${domain === undefined ? 'not set' : 'still open'}, but a pod there is spread over it`,
      },
    ];
  const here = spread.counts.get(domain)?.bound ?? 0;
  if (here - spread.least <= maxSkew) return [];
  return [
    {
      code: 'topology-spread',
      where: host.name,
      message: `${here} pods in ${topologyKey}=${domain}, ${spread.least} in the emptiest domain, maxSkew ${maxSkew}`,
    },
  ];
}

/**
 * Checks spread with DoNotSchedule in every domain with a planned pod that carries the constraint.
 * Running pods and carriers there may be at most maxSkew above the emptiest counted domain. Planned
 * pods that are only selected may bind last. They raise the emptiest domain but are not counted as
 * excess.
 */
export function spreadViolations(world: Topology): readonly Violation[] {
  const spreads = new Map<string, Spread>();
  const filters = new Map<string, Counted>();
  const found: Violation[] = [];
  const judge = (pod: Pod, constraint: TopologySpreadConstraint, text: string): Spread => {
    const filter = textOf([constraint.topologyKey, ...filterOf(pod, constraint)]);
    const counted = filters.get(filter) ?? countedFor(world, filter, pod, constraint);
    filters.set(filter, counted);
    const spread = spreads.get(text) ?? spreadOf(world, counted, { pod, constraint, text });
    spreads.set(text, spread);
    return spread;
  };
  for (const host of world.asked) {
    const seen = new Set<string>();
    for (const pod of host.planned) {
      for (const [index, constraint] of pod.topologySpread.entries()) {
        const text = spreadTexts(pod)[index] ?? '';
        if (constraint.whenUnsatisfiable !== 'DoNotSchedule' || seen.has(text)) continue;
        seen.add(text);
        const spread = spreads.get(text) ?? judge(pod, constraint, text);
        found.push(...skewAt(host, spread).map((one) => ({ ...one, podUid: pod.uid })));
      }
    }
  }
  return found;
}
