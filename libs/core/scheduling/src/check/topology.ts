import {
  firstUntolerated, selectorMatches, type LabelSelector, type Namespace, type Pod, type PodAffinityTerm, type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';
import { labels } from '@dovetail/core-api';
import type { Violation } from '../plan.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { domainsOf, podAccepts, type Host } from './hosts.js';

/** Pods that a selector counts in one domain. */
type Count = { running: number; plannedCarriers: number; plannedOthers: number };

const totalOf = (count: Count): number => count.running + count.plannedCarriers + count.plannedOthers;
const textOf = (value: unknown): string => JSON.stringify(value, (_, inner: unknown) => (inner instanceof Set ? [...inner].sort() : inner));

type Question = {
  readonly key: string;
  readonly selector: LabelSelector | undefined;
  readonly namespaces: ReadonlySet<string>;
  /** Whether a planned pod follows the rule in question. */
  readonly carries: (pod: Pod) => boolean;
  readonly counts?: (host: Host) => boolean;
  /** Leaves out hosts whose domain is not decided yet; else they count in every domain that is possible. */
  readonly decidedOnly?: boolean;
};

/** Counts per domain. A host that may be in several domains counts in each of them. */
function census(hosts: readonly Host[], question: Question): ReadonlyMap<string, Count> {
  const counts = new Map<string, Count>();
  const matches = (pod: Pod): boolean => question.namespaces.has(pod.namespace) && selectorMatches(question.selector, pod.labels);
  for (const host of hosts) {
    if (question.counts?.(host) === false) continue;
    const domains = domainsOf(host, question.key);
    if (question.decidedOnly === true && domains.length > 1) continue;
    for (const domain of domains) {
      if (domain === undefined) continue;
      const count = counts.get(domain) ?? { running: 0, plannedCarriers: 0, plannedOthers: 0 };
      counts.set(domain, count);
      for (const pod of host.running) if (pod.deletionMs === undefined && matches(pod)) count.running += 1;
      for (const pod of host.planned) {
        if (!matches(pod)) continue;
        if (question.carries(pod)) count.plannedCarriers += 1;
        else count.plannedOthers += 1;
      }
    }
  }
  return counts;
}

type World = { readonly hosts: readonly Host[]; readonly snapshot: Snapshot; readonly options: PlanOptions };

/** Nodes that a spread constraint counts (node inclusion policies). */
function countedBy(pod: Pod, constraint: TopologySpreadConstraint): (host: Host) => boolean {
  return (host) => {
    if (constraint.nodeTaintsPolicy === 'Honor' && firstUntolerated(host.taints, pod.tolerations) !== undefined) return false;
    return constraint.nodeAffinityPolicy === 'Ignore' || host.variants.every((variant) => podAccepts(pod, variant));
  };
}

/** What makes two constraints the same rule: the constraint, and whatever of the pod decides which nodes it counts. */
const spreadText = (pod: Pod, constraint: TopologySpreadConstraint): string => textOf([
  pod.namespace, constraint,
  constraint.nodeAffinityPolicy === 'Honor' ? [pod.nodeSelector, pod.requiredNodeAffinity ?? null] : null,
  constraint.nodeTaintsPolicy === 'Honor' ? pod.tolerations : null,
]);

type Spread = { readonly constraint: TopologySpreadConstraint; readonly counts: ReadonlyMap<string, Count>; readonly least: number };

function spreadOf(world: World, pod: Pod, constraint: TopologySpreadConstraint, text: string): Spread {
  const counted = countedBy(pod, constraint);
  const counts = census(world.hosts, {
    key: constraint.topologyKey, selector: constraint.selector, namespaces: new Set([pod.namespace]), counts: counted, decidedOnly: true,
    carries: (other) => other.topologySpread.some((one) => spreadText(other, one) === text),
  });
  const emptiestIsZero = constraint.topologyKey === labels.hostname && world.options.hostnameSpread === 'strict';
  const tooFew = counts.size < (constraint.minDomains ?? 1);
  const least = emptiestIsZero || tooFew || counts.size === 0 ? 0 : Math.min(...[...counts.values()].map(totalOf));
  return { constraint, counts, least };
}

/**
 * Spread with DoNotSchedule: in every domain with a planned pod that carries the constraint, pods that run and pods that
 * carry it are at most maxSkew above the emptiest counted domain. Planned pods that are merely selected may bind last,
 * so they raise the emptiest domain but do not count as excess.
 */
export function spreadViolations(world: World, about: (host: Host) => boolean): readonly Violation[] {
  const known = new Map<string, Spread>();
  const found: Violation[] = [];
  for (const host of world.hosts) {
    if (!about(host)) continue;
    const seen = new Set<string>();
    for (const pod of host.planned) {
      for (const constraint of pod.topologySpread) {
        if (constraint.whenUnsatisfiable !== 'DoNotSchedule') continue;
        const text = spreadText(pod, constraint);
        if (seen.has(text)) continue;
        seen.add(text);
        const spread = known.get(text) ?? spreadOf(world, pod, constraint, text);
        known.set(text, spread);
        found.push(...skewAt(host, spread));
      }
    }
  }
  return found;
}

function skewAt(host: Host, spread: Spread): readonly Violation[] {
  const { topologyKey, maxSkew } = spread.constraint;
  const domains = domainsOf(host, topologyKey);
  const [domain] = domains;
  if (domains.length !== 1 || domain === undefined) return [{ code: 'topology-spread', where: host.name, message: `the node's ${topologyKey} is ${domain === undefined ? 'not set' : 'still open'}, but a pod there is spread over it` }];
  const count = spread.counts.get(domain);
  const here = count === undefined ? 0 : count.running + count.plannedCarriers;
  if (here - spread.least <= maxSkew) return [];
  return [{ code: 'topology-spread', where: host.name, message: `${here} pods in ${topologyKey}=${domain}, ${spread.least} in the emptiest domain, maxSkew ${maxSkew}` }];
}

function namespacesFor(term: PodAffinityTerm, pod: Pod, all: readonly Namespace[]): ReadonlySet<string> {
  if (term.namespaces.length === 0 && term.namespaceSelector === undefined) return new Set([pod.namespace]);
  const matching = term.namespaceSelector === undefined ? [] : all.filter((one) => selectorMatches(term.namespaceSelector, one.labels)).map((one) => one.name);
  return new Set([...term.namespaces, ...matching]);
}

const selectedBy = (term: PodAffinityTerm, owner: Pod, pod: Pod, all: readonly Namespace[]): boolean =>
  namespacesFor(term, owner, all).has(pod.namespace) && selectorMatches(term.selector, pod.labels);

/**
 * Required pod affinity: each carrier shares its domain with a pod that anchors the rule (one that runs, or a planned
 * one that does not itself wait for it). Where none runs, carriers that select themselves may start one domain together.
 */
export function affinityViolations(world: World, about: (host: Host) => boolean): readonly Violation[] {
  const known = new Map<string, ReadonlyMap<string, Count>>();
  const found: Violation[] = [];
  for (const host of world.hosts) {
    if (!about(host)) continue;
    for (const pod of host.planned) {
      for (const term of pod.requiredPodAffinity) {
        const text = textOf([term, namespacesFor(term, pod, world.snapshot.namespaces)]);
        const counts = known.get(text) ?? census(world.hosts, {
          key: term.topologyKey, selector: term.selector, namespaces: namespacesFor(term, pod, world.snapshot.namespaces),
          carries: (other) => other.requiredPodAffinity.some((one) => textOf([one, namespacesFor(one, other, world.snapshot.namespaces)]) === text),
        });
        known.set(text, counts);
        if (!mateFound(host, term, { counts, self: selectedBy(term, pod, pod, world.snapshot.namespaces) })) found.push({ code: 'pod-affinity', where: host.name, message: `pod ${pod.uid} shares no ${term.topologyKey} with a pod that it must be with` });
      }
    }
  }
  return found;
}

function mateFound(host: Host, term: PodAffinityTerm, what: { readonly counts: ReadonlyMap<string, Count>; readonly self: boolean }): boolean {
  const domains = domainsOf(host, term.topologyKey);
  const [domain] = domains;
  if (domains.length !== 1 || domain === undefined) return false;
  const anchored = (count: Count): boolean => count.running + count.plannedOthers > 0;
  const here = what.counts.get(domain);
  if (here !== undefined && anchored(here)) return true;
  // Where no selected pod runs, one carrier that selects itself may start; others then join it in the same domain.
  const started = what.self || (here !== undefined && here.plannedCarriers > 0);
  if (!started || [...what.counts.values()].some((count) => count.running > 0)) return false;
  return [...what.counts].every(([other, count]) => other === domain || anchored(count) || count.plannedCarriers === 0);
}

/** Required anti-affinity, from both sides: of planned pods against everything, and of running pods against planned ones. */
export function antiAffinityViolations(world: World, about: (host: Host) => boolean): readonly Violation[] {
  const found: Violation[] = [];
  const known = new Map<string, ReadonlyMap<string, readonly { readonly host: Host; readonly pod: Pod; readonly planned: boolean }[]>>();
  const selectedIn = (term: PodAffinityTerm, owner: Pod): NonNullable<ReturnType<typeof known.get>> => {
    const text = textOf([term, namespacesFor(term, owner, world.snapshot.namespaces)]);
    const have = known.get(text) ?? podsByDomain(world.hosts, term.topologyKey, (pod) => selectedBy(term, owner, pod, world.snapshot.namespaces));
    known.set(text, have);
    return have;
  };
  for (const host of world.hosts) {
    for (const [pod, planned] of [...host.running.map((one) => [one, false] as const), ...host.planned.map((one) => [one, true] as const)]) {
      for (const term of pod.requiredPodAntiAffinity) {
        const others = domainsOf(host, term.topologyKey).flatMap((domain) => (domain === undefined ? [] : selectedIn(term, pod).get(domain) ?? []));
        const clash = others.find((other) => other.pod.uid !== pod.uid && (planned || other.planned) && (about(host) || about(other.host)));
        if (clash !== undefined) found.push({ code: 'pod-anti-affinity', where: clash.planned ? clash.host.name : host.name, message: `pod ${pod.uid} must not share ${term.topologyKey} with pod ${clash.pod.uid}` });
      }
    }
  }
  return found;
}

type Found = { readonly host: Host; readonly pod: Pod; readonly planned: boolean };

function podsByDomain(hosts: readonly Host[], key: string, selected: (pod: Pod) => boolean): ReadonlyMap<string, readonly Found[]> {
  const result = new Map<string, Found[]>();
  for (const host of hosts) {
    const here: readonly Found[] = [
      ...host.running.filter((pod) => pod.deletionMs === undefined && selected(pod)).map((pod) => ({ host, pod, planned: false })),
      ...host.planned.filter(selected).map((pod) => ({ host, pod, planned: true })),
    ];
    if (here.length === 0) continue;
    for (const domain of domainsOf(host, key)) if (domain !== undefined) result.set(domain, [...(result.get(domain) ?? []), ...here]);
  }
  return result;
}
