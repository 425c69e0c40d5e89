import { at, float64At } from '@dovetail/core-invariant';

import type { Group } from '../model/groups.js';
import type { Role } from './roles.js';

/**
 * Pods of one group in one domain: `selected` pods match its selector, `carriers` have its rule.
 * `sure` counts the selected pods on nodes that the spread is known to count. Invariant: 0 <= sure
 * <= selected.
 */
export type Tally = { selected: number; carriers: number; sure: number };

/**
 * Counts of one group over the domains of its key. Invariant: `total` is the sum of `selected` over
 * all domains.
 */
export class DomainTallies {
  readonly tallies = new Map<string, Tally>();
  /** Domains over which the spread takes its minimum. */
  readonly eligible = new Set<string>();
  total = 0;
  /** Selected pods of an affinity whose node may still come to be in any of several domains. */
  undecided = 0;

  at(domain: string): Tally {
    let tally = this.tallies.get(domain);
    if (tally === undefined)
      this.tallies.set(domain, (tally = { selected: 0, carriers: 0, sure: 0 }));
    return tally;
  }

  assign(other: DomainTallies): void {
    for (const [domain, tally] of other.tallies) this.tallies.set(domain, { ...tally });
    for (const domain of other.eligible) this.eligible.add(domain);
    this.total = other.total;
    this.undecided = other.undecided;
  }

  /**
   * Returns the smallest `sure` count over the eligible domains. The result is 0 if fewer than
   * `minDomains` are eligible, as in Kubernetes.
   */
  least(group: Group): number {
    if (this.eligible.size < group.minDomains) return 0;
    let least = Infinity;
    for (const domain of this.eligible) {
      const count = this.tallies.get(domain)?.sure ?? 0;
      if (count < least) least = count;
    }
    return least === Infinity ? 0 : least;
  }
}

const empty: Tally = { selected: 0, carriers: 0, sure: 0 };

/**
 * Returns how many more pods with this role a domain with this tally takes. `least` is the smallest
 * count over all domains, `total` the number of the group's pods anywhere. The arguments are plain
 * values, because every placement calls this function.
 * - Spread: a carrier may raise the domain to `least + maxSkew`. A pod that is only selected may
 *   not raise a domain with carriers above that either. A carrier that binds last is then still
 *   accepted. `lenient` lifts this rule for pods that would otherwise find no place; kube-scheduler
 *   has no such rule.
 * - Anti-affinity keeps carriers away from selected pods. If it is required, it also keeps selected
 *   pods away from carriers.
 * - Affinity wants a selected pod in the domain. The first pod of a group that selects itself may
 *   start anywhere.
 */
export function roomIn(
  role: Role,
  tally: Tally | undefined,
  least: number,
  total: number,
  lenient = false,
): number {
  const { group, carries, selected } = role;
  const standing = tally ?? empty;
  switch (group.kind) {
    case 'spread': {
      if (!carries && (lenient || !group.hard || standing.carriers === 0)) return Infinity;
      const allowed = least + group.maxSkew - standing.selected;
      return selected ? Math.max(0, allowed) : allowed >= 0 ? Infinity : 0;
    }
    case 'anti': {
      if (carries && standing.selected > 0) return 0;
      if (selected && group.hard && standing.carriers > 0) return 0;
      return carries && selected ? 1 : Infinity;
    }
    case 'affinity': {
      if (!carries || standing.selected > 0) return Infinity;
      return selected && total === 0 ? Infinity : 0;
    }
  }
}

/**
 * Counts of every group. Domain counts are kept here; host counts are kept in the bins, and only
 * their totals here.
 */
export class Ledger {
  readonly domains: readonly DomainTallies[];
  readonly #hostTotals: Float64Array;
  /** The `lenient` argument of `roomIn` for every question to this ledger. */
  lenient = false;
  /** Per hostname group, the number of selected pods that every eligible node is sure to hold. */
  readonly hostFloors: Float64Array;

  constructor(groups: readonly unknown[]) {
    this.domains = groups.map(() => new DomainTallies());
    this.#hostTotals = new Float64Array(groups.length);
    this.hostFloors = new Float64Array(groups.length);
  }

  /** Returns a copy with independent counts. */
  clone(): Ledger {
    const copy = new Ledger(this.domains);
    this.domains.forEach((tallies, index) => copy.domains[index]?.assign(tallies));
    copy.#hostTotals.set(this.#hostTotals);
    copy.hostFloors.set(this.hostFloors);
    return copy;
  }

  /**
   * Whether no count is below zero. Invariant: true at all times, because `note` only removes pods
   * that were noted before.
   */
  neverNegative(): boolean {
    return (
      this.#hostTotals.every((total) => total >= 0) &&
      this.domains.every(
        ({ total, tallies }) =>
          total >= 0 &&
          [...tallies.values()].every(
            ({ selected, carriers, sure }) => selected >= 0 && carriers >= 0 && sure >= 0,
          ),
      )
    );
  }

  of(group: Group): DomainTallies {
    return at(this.domains, group.id);
  }

  roomInDomain(role: Role, domain: string): number {
    const tallies = this.of(role.group);
    return roomIn(
      role,
      tallies.tallies.get(domain),
      role.group.kind === 'spread' ? tallies.least(role.group) : 0,
      tallies.total + tallies.undecided,
      this.lenient,
    );
  }

  /**
   * Notes `count` pods of this role in a domain; a negative count removes them. `sure` means that
   * the spread counts their node.
   */
  note(role: Role, domain: string, count: number, sure: boolean): void {
    const tallies = this.of(role.group);
    const tally = tallies.at(domain);
    if (role.selected) {
      tally.selected += count;
      tallies.total += count;
      if (sure) tally.sure += count;
    }
    if (role.carries) tally.carriers += count;
  }

  roomOnHost(role: Role, hosts: ReadonlyMap<number, Tally> | undefined): number {
    return roomIn(
      role,
      hosts?.get(role.group.id),
      float64At(this.hostFloors, role.group.id),
      float64At(this.#hostTotals, role.group.id),
      this.lenient,
    );
  }

  /** Notes `count` pods of this role on a host; a negative count removes them. */
  noteOnHost(role: Role, hosts: Map<number, Tally>, count: number): void {
    let tally = hosts.get(role.group.id);
    if (tally === undefined)
      hosts.set(role.group.id, (tally = { selected: 0, carriers: 0, sure: 0 }));
    if (role.selected) {
      tally.selected += count;
      this.#hostTotals[role.group.id] = float64At(this.#hostTotals, role.group.id) + count;
    }
    if (role.carries) tally.carriers += count;
  }
}
