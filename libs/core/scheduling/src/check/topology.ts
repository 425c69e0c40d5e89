import {
  type Namespace,
  type Pod,
  type PodAffinityTerm,
  selectorMatches,
} from '@dovetail/core-kube-model';

import type { Violation } from '../plan.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import { type Census, push, type Seat } from './census.js';
import { domainsOf, type Host } from './hosts.js';

/** The data that rules between pods are checked with. */
export type Topology = {
  readonly hosts: readonly Host[];
  readonly census: Census;
  readonly snapshot: Snapshot;
  readonly options: PlanOptions;
};

export const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (inner instanceof Set ? [...inner].sort() : inner));

/** Keeps the texts of a pod's rules by pod. Invariant: equal texts mean the same rule. */
export function ruleTexts(write: (pod: Pod) => readonly string[]): (pod: Pod) => readonly string[] {
  const known = new WeakMap<Pod, readonly string[]>();
  return (pod) => {
    const texts = known.get(pod) ?? write(pod);
    known.set(pod, texts);
    return texts;
  };
}

function namespacesFor(
  term: PodAffinityTerm,
  pod: Pod,
  all: readonly Namespace[],
): ReadonlySet<string> {
  if (term.namespaces.length === 0 && term.namespaceSelector === undefined)
    return new Set([pod.namespace]);
  const matching =
    term.namespaceSelector === undefined
      ? []
      : all
          .filter((one) => selectorMatches(term.namespaceSelector, one.labels))
          .map((one) => one.name);
  return new Set([...term.namespaces, ...matching]);
}

/**
 * Returns the texts of a pod's affinity or anti-affinity terms, with the namespaces that they mean.
 */
const termTexts = (
  snapshot: Snapshot,
  of: (pod: Pod) => readonly PodAffinityTerm[],
): ((pod: Pod) => readonly string[]) =>
  ruleTexts((pod) =>
    of(pod).map((term) => textOf([term, namespacesFor(term, pod, snapshot.namespaces)])),
  );

const selectedBy = (
  term: PodAffinityTerm,
  owner: Pod,
  pod: Pod,
  all: readonly Namespace[],
): boolean =>
  namespacesFor(term, owner, all).has(pod.namespace) && selectorMatches(term.selector, pod.labels);

/**
 * The pods that a rule selects in one domain. A pod counts in every domain that its node may be in.
 */
type Mates = { running: number; waiting: number; others: number };
type Affinity = {
  readonly counts: ReadonlyMap<string, Mates>;
  readonly someRun: boolean;
  /** Domains in which pods wait for the rule and no other pod anchors it. */
  readonly started: ReadonlySet<string>;
};

const anchored = (mates: Mates): boolean => mates.running + mates.others > 0;

function affinityOf(seats: readonly Seat[], key: string, waits: (pod: Pod) => boolean): Affinity {
  const counts = new Map<string, Mates>();
  for (const { host, pod, planned } of seats) {
    for (const domain of domainsOf(host, key)) {
      if (domain === undefined) continue;
      const mates = counts.get(domain) ?? { running: 0, waiting: 0, others: 0 };
      counts.set(domain, mates);
      mates[!planned ? 'running' : waits(pod) ? 'waiting' : 'others'] += 1;
    }
  }
  const started = [...counts]
    .filter(([, mates]) => !anchored(mates) && mates.waiting > 0)
    .map(([domain]) => domain);
  return {
    counts,
    someRun: [...counts.values()].some((mates) => mates.running > 0),
    started: new Set(started),
  };
}

/**
 * Checks required pod affinity. Each carrier must share its domain with a pod that anchors the
 * rule. That pod runs already, or is planned and does not wait for the rule. If none runs, carriers
 * that select themselves may start one domain together.
 */
export function affinityViolations(
  { hosts, census, snapshot }: Topology,
  about: (host: Host) => boolean,
): readonly Violation[] {
  const texts = termTexts(snapshot, (pod) => pod.requiredPodAffinity);
  const rules = new Map<string, Affinity>();
  const found: Violation[] = [];
  for (const host of hosts) {
    if (!about(host)) continue;
    for (const pod of host.planned) {
      for (const [index, term] of pod.requiredPodAffinity.entries()) {
        const text = texts(pod)[index] ?? '';
        const rule =
          rules.get(text) ??
          affinityOf(
            census.matching(term.selector, namespacesFor(term, pod, snapshot.namespaces)),
            term.topologyKey,
            (other) => texts(other).includes(text),
          );
        rules.set(text, rule);
        const self = (): boolean => selectedBy(term, pod, pod, snapshot.namespaces);
        if (!mateFound(host, term, rule, self))
          found.push({
            code: 'pod-affinity',
            where: host.name,
            message: `pod ${pod.uid} shares no ${term.topologyKey} with a pod that its affinity requires`,
          });
      }
    }
  }
  return found;
}

function mateFound(
  host: Host,
  term: PodAffinityTerm,
  { counts, someRun, started }: Affinity,
  self: () => boolean,
): boolean {
  const domains = domainsOf(host, term.topologyKey);
  const [domain] = domains;
  if (domains.length !== 1 || domain === undefined) return false;
  const here = counts.get(domain);
  if (here !== undefined && anchored(here)) return true;
  // If no selected pod runs, one carrier that selects itself may start a domain. Others then join
  // it there.
  if (someRun || !(started.has(domain) || self())) return false;
  return started.size === 0 || (started.size === 1 && started.has(domain));
}

/**
 * Checks required anti-affinity in both directions: of planned pods against all pods, and of
 * running pods against planned ones.
 */
export function antiAffinityViolations(
  { hosts, census, snapshot }: Topology,
  about: (host: Host) => boolean,
): readonly Violation[] {
  const texts = termTexts(snapshot, (pod) => pod.requiredPodAntiAffinity);
  const rules = new Map<string, SeatsByDomain>();
  const found: Violation[] = [];
  const judge = (host: Host, pod: Pod, planned: boolean): void => {
    for (const [index, term] of pod.requiredPodAntiAffinity.entries()) {
      const text = texts(pod)[index] ?? '';
      const rule =
        rules.get(text) ??
        byDomain(
          census.matching(term.selector, namespacesFor(term, pod, snapshot.namespaces)),
          term.topologyKey,
        );
      rules.set(text, rule);
      // Only planned pods can violate a rule, because running pods stay where they are.
      const others = domainsOf(host, term.topologyKey).flatMap((domain) =>
        domain === undefined ? [] : (rule[planned ? 'all' : 'planned'].get(domain) ?? []),
      );
      const clash = others.find(
        (other) => other.pod.uid !== pod.uid && (about(host) || about(other.host)),
      );
      if (clash !== undefined)
        found.push({
          code: 'pod-anti-affinity',
          where: clash.planned ? clash.host.name : host.name,
          message: `pod ${pod.uid} must not share ${term.topologyKey} with pod ${clash.pod.uid}`,
        });
    }
  };
  for (const host of hosts) {
    for (const pod of host.running) judge(host, pod, false);
    for (const pod of host.planned) judge(host, pod, true);
  }
  return found;
}

/** The pods in each domain of a key, and those among them that the plan places. */
type SeatsByDomain = {
  readonly all: ReadonlyMap<string, readonly Seat[]>;
  readonly planned: ReadonlyMap<string, readonly Seat[]>;
};

function byDomain(seats: readonly Seat[], key: string): SeatsByDomain {
  const all = new Map<string, Seat[]>();
  const planned = new Map<string, Seat[]>();
  for (const seat of seats) {
    for (const domain of domainsOf(seat.host, key)) {
      if (domain === undefined) continue;
      push(all, domain, seat);
      if (seat.planned) push(planned, domain, seat);
    }
  }
  return { all, planned };
}
