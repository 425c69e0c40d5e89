import { admits, type Pod, type ValueSet } from '@dovetail/core-kube-model';

import { type PodClass, Selections } from '../model/classes.js';
import { alternativesOf, type Group, type GroupTable } from '../model/groups.js';
import { holdsRoom, nodeRequirements, nodesPerStep } from '../model/nodes.js';
import type { SelectorKeys } from '../model/selection.js';
import { roomyOffers, type Template } from '../model/templates.js';
import { tooManyTerms } from '../model/too-many-terms.js';
import type { ExistingNode, Snapshot } from '../snapshot.js';
import { filterAdmits, mayName, templateDomains } from '../topology/domains.js';
import { Ledger, type Tally } from '../topology/ledger.js';

/**
 * Registers the required anti-affinity of running pods, so that new pods are kept away from them.
 */
export function registerRunning(snapshot: Snapshot, groups: GroupTable): void {
  for (const node of snapshot.nodes) {
    for (const list of [node.pods, node.promisedPods]) {
      for (const pod of list)
        for (const term of pod.requiredPodAntiAffinity)
          groups.affinity(pod, term, { kind: 'anti', hard: true });
    }
  }
}

type Place = {
  readonly node: ExistingNode;
  readonly requirements: ReturnType<typeof nodeRequirements>;
};

/** Returns the domains in which a node is, or could be while its claim is in flight. */
function domainsOf(place: Place, key: string): readonly string[] {
  const set = place.requirements.get(key);
  return set?.kind === 'in' ? [...set.values] : [];
}

/**
 * The facts that are fixed before planning: the counts of running pods, and the eligible domains of
 * each spread. `hosts` has the counts of hostname groups by node uid.
 */
export type Standings = {
  readonly ledger: Ledger;
  readonly hosts: ReadonlyMap<string, Map<number, Tally>>;
};

/** The tables of the snapshot that the standing of topology rules is counted with. */
export type StandingTables = {
  readonly groups: GroupTable;
  /** The pods to place. */
  readonly classes: readonly Pick<PodClass, 'pod'>[];
  readonly selection: SelectorKeys;
  readonly templates: readonly Template[];
  readonly wellKnown: ReadonlySet<string>;
  readonly moving: ReadonlySet<string>;
  /** See `PlanOptions`. It is called from time to time among the nodes. */
  readonly giveWay?: (() => void) | undefined;
};

function notePod(
  pod: Pod,
  place: Place,
  tables: {
    readonly selections: Selections;
    readonly groups: GroupTable;
    readonly ledger: Ledger;
    readonly hosts: Map<number, Tally>;
  },
): void {
  // A pod that is ending is counted no more, but keeps others away until it is gone.
  const selecting = new Set(pod.deletionMs === undefined ? tables.selections.of(pod) : []);
  const carried = new Set(
    pod.requiredPodAntiAffinity.map((term) =>
      tables.groups.affinity(pod, term, { kind: 'anti', hard: true }),
    ),
  );
  for (const group of new Set([...selecting, ...carried])) {
    const selected =
      selecting.has(group) &&
      (group.kind !== 'spread' ||
        filterAdmits(group.filter, {
          requirements: place.requirements,
          taints: place.node.taints,
        }));
    const role = { group, selected, carries: carried.has(group) };
    if (group.onHost) {
      tables.ledger.noteOnHost(role, tables.hosts, 1);
      continue;
    }
    const domains = domainsOf(place, group.key);
    // A node in flight may end up in any of several domains. Anti-affinity avoids them all; a
    // spread counts none. Affinity joins none of them, and no pod may start another one.
    if (domains.length === 1 || group.kind === 'anti')
      for (const domain of domains) tables.ledger.note(role, domain, 1, true);
    else if (group.kind === 'affinity' && selected && domains.length > 1)
      tables.ledger.of(group).undecided += 1;
  }
}

/**
 * The values of a key that some pod to place could be on a new node with; undefined where they are
 * not limited.
 */
function reachable(
  key: string,
  classes: StandingTables['classes'],
): readonly ValueSet[] | undefined {
  const sets = new Set<ValueSet>();
  for (const { pod } of classes) {
    if (tooManyTerms(pod) !== undefined) continue;
    for (const wanted of alternativesOf(pod)) {
      const set = wanted.get(key);
      if (set === undefined) return undefined;
      sets.add(set);
    }
  }
  return [...sets];
}

function eligibleDomains(
  group: Group,
  places: readonly Place[],
  tables: StandingTables,
  plain: Map<string, readonly string[]>,
): Iterable<string> {
  const found = new Set<string>();
  // No new node opens in a domain that no pod to place could use, or for which no limit leaves
  // room.
  const sets = reachable(group.key, tables.classes);
  for (const template of tables.templates) {
    if (!mayName(template, group.key)) continue;
    const filtered =
      group.filter.alternatives !== undefined || group.filter.tolerations !== undefined;
    const known = filtered ? undefined : plain.get(`${template.index} ${group.key}`);
    const domains =
      known ??
      templateDomains({ ...template, offers: roomyOffers(template) }, group.key, {
        filter: group.filter,
        wellKnown: tables.wellKnown,
      }).filter((domain) => sets?.some((set) => admits(set, domain)) ?? true);
    if (!filtered) plain.set(`${template.index} ${group.key}`, domains);
    for (const domain of domains) found.add(domain);
  }
  for (const place of places) {
    const domains = domainsOf(place, group.key);
    const [domain] = domains;
    if (
      domain !== undefined &&
      domains.length === 1 &&
      filterAdmits(group.filter, { requirements: place.requirements, taints: place.node.taints })
    )
      found.add(domain);
  }
  return found;
}

/**
 * Counts running pods. Pods that have ended do not count, nor do the pods to place. As in
 * Karpenter, a pod that is ending keeps others away by its required anti-affinity, and counts for
 * nothing else.
 */
export function standingsOf(snapshot: Snapshot, tables: StandingTables): Standings {
  const ledger = new Ledger(tables.groups.groups);
  const hosts = new Map<string, Map<number, Tally>>();
  if (tables.groups.groups.length === 0) return { ledger, hosts };
  const selections = new Selections(tables);
  const places = snapshot.nodes.map((node) => ({ node, requirements: nodeRequirements(node) }));
  for (const [index, place] of places.entries()) {
    if (index % nodesPerStep === 0) tables.giveWay?.();
    const mine = new Map<number, Tally>();
    hosts.set(place.node.uid, mine);
    for (const list of [place.node.pods, place.node.promisedPods]) {
      for (const pod of list)
        if (holdsRoom(pod, tables.moving))
          notePod(pod, place, { selections, groups: tables.groups, ledger, hosts: mine });
    }
  }
  const plain = new Map<string, readonly string[]>();
  for (const group of tables.groups.groups) {
    if (group.kind !== 'spread' || group.onHost) continue;
    for (const domain of eligibleDomains(group, places, tables, plain))
      ledger.of(group).eligible.add(domain);
  }
  return { ledger, hosts };
}
