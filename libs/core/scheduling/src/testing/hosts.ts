import type { Pod } from '@dovetail/core-kube-model';

import { Census } from '../check/census.js';
import { type Host, hostOf, planning } from '../check/hosts.js';
import { newHosts } from '../check/new-hosts.js';
import { Guards, type Topology } from '../check/topology.js';
import { defaultPlanOptions } from '../options.js';
import type { NewNode } from '../plan.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';

/**
 * Every node of a snapshot and every new node, with the pods planned there: under `node <uid>` and
 * `bin <id>`.
 */
export const hostsOf = (
  snapshot: Snapshot,
  planned: {
    readonly newNodes: readonly NewNode[];
    readonly podsOn: ReadonlyMap<string, readonly Pod[]>;
  },
  moving: ReadonlySet<string>,
): readonly Host[] => [
  ...snapshot.nodes.map((node) =>
    planning(hostOf(node), planned.podsOn.get(`node ${node.uid}`) ?? [], moving),
  ),
  ...newHosts(snapshot, planned.newNodes, (bin) => planned.podsOn.get(`bin ${bin.id}`) ?? []),
];

/** The data for checks of rules between pods: all of these hosts, and the violations of some. */
export function topologyOf(
  hosts: readonly Host[],
  snapshot: Snapshot,
  about: (host: Host) => boolean,
  options: PlanOptions = defaultPlanOptions,
): Topology {
  const census = new Census(hosts);
  return {
    domains: (_, domainOf) => new Set(hosts.flatMap((host) => domainOf(host) ?? [])).size,
    asked: hosts.filter(about),
    planned: new Census(hosts, 'planned'),
    matching: (selector, namespaces) => census.matching(selector, namespaces),
    guards: new Guards(snapshot, new Census(hosts, 'running').guards).all(),
    stays: () => true,
    snapshot,
    options,
  };
}
