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
  /** How many domains all the nodes are in; the text stands for the function. */
  readonly domains: (filter: string, domainOf: DomainOf) => number;
  /** The nodes to judge. */
  readonly asked: readonly Host[];
  /** Where each planned pod is planned. */
  readonly planned: Census;
  /** The pods in these namespaces that a selector selects, running and planned. */
  readonly matching: Census['matching'];
  /** The rules of running pods that keep others away. */
  readonly guards: Iterable<Guard>;
  /** Whether a running pod stays where it is; a planned one does not. */
  readonly stays: (seat: Seat) => boolean;
  readonly snapshot: Pick<Snapshot, 'namespaces'>;
  readonly options: PlanOptions;
};

/** The domain that a node counts in; undefined: it does not count. */
export type DomainOf = (host: Host) => string | undefined;

/** One required anti-affinity of running pods, with the pods that have it. */
export type Guard = {
  readonly term: PodAffinityTerm;
  readonly namespaces: ReadonlySet<string>;
  readonly carriers: Set<Seat>;
};

/** The required anti-affinities of running pods, equal ones together. */
export class Guards {
  readonly #snapshot: Pick<Snapshot, 'namespaces'>;
  readonly #texts: (pod: Pod) => readonly string[];
  readonly #guards = new Map<string, Guard>();

  constructor(snapshot: Pick<Snapshot, 'namespaces'>, seats: Iterable<Seat>) {
    this.#snapshot = snapshot;
    this.#texts = termTexts(snapshot, (pod) => pod.requiredPodAntiAffinity);
    for (const seat of seats) this.add(seat);
  }

  all(): Iterable<Guard> {
    return this.#guards.values();
  }

  add(seat: Seat): void {
    for (const [index, term] of seat.pod.requiredPodAntiAffinity.entries()) {
      const text = this.#texts(seat.pod)[index] ?? '';
      const guard = this.#guards.get(text) ?? {
        term,
        namespaces: namespacesFor(term, seat.pod, this.#snapshot.namespaces),
        carriers: new Set(),
      };
      guard.carriers.add(seat);
      this.#guards.set(text, guard);
    }
  }

  remove(seat: Seat): void {
    for (const text of this.#texts(seat.pod)) {
      const guard = this.#guards.get(text);
      guard?.carriers.delete(seat);
      if (guard?.carriers.size === 0) this.#guards.delete(text);
    }
  }
}

/** A value as text, with sets as sorted lists, so that equal values have equal texts. */
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
  snapshot: Pick<Snapshot, 'namespaces'>,
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

/** The pods that a rule selects in one domain. Only pods count whose node is surely there. */
type Mates = { running: number; waiting: number; others: number };
type Affinity = {
  readonly counts: ReadonlyMap<string, Mates>;
  /** Whether a selected pod runs anywhere, also on a node whose domain is undecided. */
  readonly someRun: boolean;
  /** Domains in which pods wait for the rule and no other pod anchors it. */
  readonly started: ReadonlySet<string>;
};

const anchored = (mates: Mates): boolean => mates.running + mates.others > 0;

function affinityOf(seats: readonly Seat[], key: string, waits: (pod: Pod) => boolean): Affinity {
  const counts = new Map<string, Mates>();
  let someRun = false;
  for (const { host, pod, planned } of seats) {
    const domains = domainsOf(host, key);
    const [domain] = domains;
    someRun ||= !planned && domains.some((one) => one !== undefined);
    if (domains.length !== 1 || domain === undefined) continue;
    const mates = counts.get(domain) ?? { running: 0, waiting: 0, others: 0 };
    counts.set(domain, mates);
    mates[!planned ? 'running' : waits(pod) ? 'waiting' : 'others'] += 1;
  }
  const started = [...counts]
    .filter(([, mates]) => !anchored(mates) && mates.waiting > 0)
    .map(([domain]) => domain);
  return { counts, someRun, started: new Set(started) };
}

/**
 * Checks required pod affinity. Each carrier must share its domain with a pod that anchors the
 * rule. That pod runs already, or is planned and does not wait for the rule. If none runs, carriers
 * that select themselves may start one domain together.
 */
export function affinityViolations({ asked, matching, snapshot }: Topology): readonly Violation[] {
  const texts = termTexts(snapshot, (pod) => pod.requiredPodAffinity);
  const rules = new Map<string, Affinity>();
  const found: Violation[] = [];
  for (const host of asked) {
    for (const pod of host.planned) {
      for (const [index, term] of pod.requiredPodAffinity.entries()) {
        const text = texts(pod)[index] ?? '';
        const rule =
          rules.get(text) ??
          affinityOf(
            matching(term.selector, namespacesFor(term, pod, snapshot.namespaces)),
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
            podUid: pod.uid,
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
export const antiAffinityViolations = (world: Topology): readonly Violation[] => [
  ...unguarded(world),
  ...ownClashes(world),
];

/**
 * Returns planned pods beside a running pod that keeps them away. Running pods stay where they are.
 */
function unguarded({ asked, planned, guards, stays }: Topology): readonly Violation[] {
  const judged = new Set(asked);
  const found: Violation[] = [];
  for (const { term, namespaces, carriers } of guards) {
    const kept = planned.matching(term.selector, namespaces).filter(({ host }) => judged.has(host));
    if (kept.length === 0) continue;
    const at = byDomain([...carriers].filter(stays), term.topologyKey);
    for (const seat of kept) {
      const [carrier] = matesOf(seat.host, term.topologyKey, at);
      if (carrier !== undefined) found.push(clashOf(seat.host, carrier.pod, term, seat.pod));
    }
  }
  return found;
}

/** Returns planned pods that share a domain with pods that they keep away. */
function ownClashes({ asked, planned, matching, snapshot }: Topology): readonly Violation[] {
  const judged = new Set(asked);
  const texts = termTexts(snapshot, (pod) => pod.requiredPodAntiAffinity);
  const rules = new Map<string, SeatsByDomain>();
  const found: Violation[] = [];
  for (const { host, pod } of planned.guards) {
    for (const [index, term] of pod.requiredPodAntiAffinity.entries()) {
      const text = texts(pod)[index] ?? '';
      const rule =
        rules.get(text) ??
        byDomain(
          matching(term.selector, namespacesFor(term, pod, snapshot.namespaces)),
          term.topologyKey,
        );
      rules.set(text, rule);
      const clash = matesOf(host, term.topologyKey, rule).find(
        (other) => other.pod.uid !== pod.uid && (judged.has(host) || judged.has(other.host)),
      );
      if (clash !== undefined)
        found.push({
          ...clashOf(clash.planned ? clash.host : host, pod, term, clash.pod),
          podUid: pod.uid,
        });
    }
  }
  return found;
}

const clashOf = (host: Host, pod: Pod, term: PodAffinityTerm, other: Pod): Violation => ({
  code: 'pod-anti-affinity',
  where: host.name,
  message: `pod ${pod.uid} must not share ${term.topologyKey} with pod ${other.uid}`,
});

/** Pods by the domain of a key; a pod is in every domain that its node may come to be in. */
type SeatsByDomain = ReadonlyMap<string, readonly Seat[]>;

const matesOf = (host: Host, key: string, seats: SeatsByDomain): readonly Seat[] =>
  domainsOf(host, key).flatMap((domain) => (domain === undefined ? [] : (seats.get(domain) ?? [])));

function byDomain(seats: Iterable<Seat>, key: string): SeatsByDomain {
  const all = new Map<string, Seat[]>();
  for (const seat of seats)
    for (const domain of domainsOf(seat.host, key))
      if (domain !== undefined) push(all, domain, seat);
  return all;
}
