import { at, float64At } from '@dovetail/core-invariant';

import type { Group } from '../model/groups.js';
import type { Role } from './roles.js';

/**
 * Pods of one group in one domain: those it selects, and those here that carry its rule. A spread
 * counts only nodes that its pods could use, and whether a new node will be one of them may be
 * open: such pods are selected, but not `sure`.
 */
export type Tally = { selected: number; carriers: number; sure: number };

/** Counts of one group over the domains of its key. */
export class DomainTallies {
  readonly tallies = new Map<string, Tally>();
  /** Domains that the spread's minimum is taken over. */
  readonly eligible = new Set<string>();
  total = 0;

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
  }

  /**
   * The smallest count over eligible domains; 0 while fewer domains are eligible than the
   * constraint wants.
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
 * How many more pods with this role a domain with this tally may take; `least` is the smallest
 * count over all domains, `total` counts the group's pods anywhere. (Plain arguments: this is asked
 * hundreds of thousands of times for one plan.)
 * - A spread's carrier may raise the domain to `least + maxSkew`. Pods that are merely counted may not raise a domain that
 *   carriers live in above that either, so that a carrier which binds last is still accepted; `lenient` lets them, because
 *   kube-scheduler would: for pods that would otherwise have no place at all.
 * - Anti-affinity keeps carriers away from selected pods and, when required, selected pods away from carriers.
 * - Affinity wants a selected pod there already; the first of a group that selects itself may start anywhere.
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
 * Counts of every group: by domain here, by host in the bins themselves (only totals are kept for
 * those).
 */
export class Ledger {
  readonly domains: readonly DomainTallies[];
  readonly #hostTotals: Float64Array;
  /** See `roomIn`. */
  lenient = false;
  /** Per hostname spread: what every eligible node is sure to hold. */
  readonly hostFloors: Float64Array;

  constructor(groups: readonly unknown[]) {
    this.domains = groups.map(() => new DomainTallies());
    this.#hostTotals = new Float64Array(groups.length);
    this.hostFloors = new Float64Array(groups.length);
  }

  /** A copy that can be counted on without touching this one. */
  clone(): Ledger {
    const copy = new Ledger(this.domains);
    this.domains.forEach((tallies, index) => copy.domains[index]?.assign(tallies));
    copy.#hostTotals.set(this.#hostTotals);
    copy.hostFloors.set(this.hostFloors);
    return copy;
  }

  /** Invariant: no count is ever below zero; what `note` takes away was noted before. */
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
      tallies.total,
      this.lenient,
    );
  }

  /**
   * Notes `count` pods of this role in a domain; a negative count takes them away. `sure`: the node
   * is one that counts.
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

  /** As `note`, for a host. */
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
