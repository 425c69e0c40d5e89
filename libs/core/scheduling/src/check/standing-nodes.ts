import type { ExistingNode, Surroundings } from '../snapshot.js';
import { Census } from './census.js';
import { answersMax, type Host, hostOf } from './hosts.js';
import { type DomainOf, type Guard, Guards } from './topology.js';

/** How many nodes each domain has, for one way of counting nodes. */
type Domains = { readonly domainOf: DomainOf; readonly nodes: Map<string, number> };

/**
 * The nodes that plans are checked against, kept from one check to the next. Only nodes that are
 * other values than before are read again, so a check costs what is new in it.
 *
 * Invariant: after `keep`, what is held is exactly what follows from the nodes that were given.
 */
export class StandingNodes {
  readonly census = new Census([], 'running');
  #nodes: readonly ExistingNode[] = [];
  readonly #hosts = new Map<ExistingNode, Host>();
  readonly #byUid = new Map<string, Host>();
  readonly #domains = new Map<string, Domains>();
  #guards: { readonly namespaces: unknown; readonly held: Guards } | undefined;
  /** The nodes of the last question, with the pods that were planned on them. */
  readonly #planned = new Census([], 'planned');
  #plannedOn: ReadonlySet<Host> = new Set();

  constructor(nodes: readonly ExistingNode[] = []) {
    this.keep(nodes);
  }

  /** The node of this UID, with nothing planned on it. */
  host(uid: string): Host | undefined {
    return this.#byUid.get(uid);
  }

  /**
   * The pods that are planned on these nodes, until the next call. Admission asks about the nodes
   * of a plan one by one, so most were among those of the last call and are not read again.
   */
  plannedOn(hosts: readonly Host[]): Census {
    const before = this.#plannedOn;
    const now = new Set(hosts);
    for (const host of before) if (!now.has(host)) this.#planned.remove(host);
    for (const host of now) if (!before.has(host)) this.#planned.add(host);
    this.#plannedOn = now;
    return this.#planned;
  }

  /** The anti-affinities of the running pods, equal ones together. */
  guards(around: Pick<Surroundings, 'namespaces'>): Iterable<Guard> {
    if (this.#guards?.namespaces !== around.namespaces)
      this.#guards = {
        namespaces: around.namespaces,
        held: new Guards(around, this.census.guards),
      };
    return this.#guards.held.all();
  }

  /** How many domains these nodes and some new ones are in. The text stands for the function. */
  domainsWith(fresh: readonly Host[], filter: string, domainOf: DomainOf): number {
    const { nodes } = this.#domains.get(filter) ?? this.#counted(filter, domainOf);
    const more = fresh.flatMap((host) => domainOf(host) ?? []);
    return nodes.size + new Set(more.filter((domain) => !nodes.has(domain))).size;
  }

  /**
   * Makes these the nodes. The list may be the one of the last call with other nodes in it: what
   * counts is each node's value.
   */
  keep(nodes: readonly ExistingNode[]): void {
    const before = this.#nodes;
    // Lists mostly differ in few places and at their end: each bin of a round is judged with the
    // bins before it in place. Nodes that were read and not kept yet are in no list.
    const isComparable = this.#hosts.size === before.length;
    const fresh = isComparable ? nodes.filter((node, index) => node !== before[index]) : nodes;
    if (isComparable && fresh.length === 0 && nodes.length === before.length) return;
    const gone = new Set(
      isComparable ? before.filter((node, index) => node !== nodes[index]) : this.#hosts.keys(),
    );
    for (const node of fresh) gone.delete(node);
    for (const node of gone) this.#remove(node);
    this.read(fresh);
    this.#nodes = [...nodes];
  }

  /** Reads nodes that a later `keep` will name, so that a first one need not read all at once. */
  read(nodes: Iterable<ExistingNode>): void {
    for (const node of nodes) if (!this.#hosts.has(node)) this.#add(node);
  }

  #counted(filter: string, domainOf: DomainOf): Domains {
    if (this.#domains.size >= answersMax) this.#domains.clear();
    const counted: Domains = { domainOf, nodes: new Map() };
    for (const host of this.#hosts.values()) count(counted, host, 1);
    this.#domains.set(filter, counted);
    return counted;
  }

  #add(node: ExistingNode): void {
    const host = hostOf(node);
    this.#hosts.set(node, host);
    this.#byUid.set(node.uid, host);
    this.census.add(host);
    for (const domains of this.#domains.values()) count(domains, host, 1);
    for (const seat of this.census.at(host)) this.#guards?.held.add(seat);
  }

  #remove(node: ExistingNode): void {
    const host = this.#hosts.get(node);
    if (host === undefined) return;
    this.#hosts.delete(node);
    if (this.#byUid.get(node.uid) === host) this.#byUid.delete(node.uid);
    for (const seat of this.census.at(host)) this.#guards?.held.remove(seat);
    for (const domains of this.#domains.values()) count(domains, host, -1);
    this.census.remove(host);
  }
}

function count({ domainOf, nodes }: Domains, host: Host, change: 1 | -1): void {
  const domain = domainOf(host);
  if (domain === undefined) return;
  const left = (nodes.get(domain) ?? 0) + change;
  if (left === 0) nodes.delete(domain);
  else nodes.set(domain, left);
}
