import { labels } from '@dovetail/core-api';
import {
  admitsAbsence,
  compareText,
  type DaemonSet,
  firstUntolerated,
  hasIntersection,
  type HostPort,
  intersectRequirements,
  isCompatible,
  type Requirements,
  requirementsFromSelector,
  requirementsOf,
  type Taint,
  type ValueSet,
} from '@dovetail/core-kube-model';

import { addTo, type Dimensions, vectorOf } from './dimensions.js';
import { usableTerms } from './levels.js';

/**
 * A daemonset in the terms of planning: the amounts that each of its pods takes, and the nodes that
 * it goes to.
 */
export type Daemon = {
  readonly uid: string;
  readonly requests: Float64Array;
  readonly hostPorts: readonly HostPort[];
  /**
   * Alternatives (OR). Preferences do not bind the daemonset controller. Terms about the hostname
   * are left out, because new nodes have no name yet.
   */
  readonly alternatives: readonly Requirements[];
  readonly toleratesAll: (taints: readonly Taint[]) => boolean;
};

const withoutHostname = (requirements: Requirements): Requirements => {
  if (!requirements.has(labels.hostname)) return requirements;
  const kept = new Map(requirements);
  kept.delete(labels.hostname);
  return kept;
};

/** Returns daemonsets in the order of their uids. PreferNoSchedule never keeps their pods away. */
export function daemonsOf(
  daemonSets: readonly DaemonSet[],
  dimensions: Dimensions,
): readonly Daemon[] {
  return [...daemonSets]
    .sort((a, b) => compareText(a.uid, b.uid))
    .map(({ uid, template }) => {
      const base = requirementsFromSelector(template.nodeSelector);
      const terms = usableTerms(template);
      const alternatives =
        template.requiredNodeAffinity === undefined
          ? [base]
          : terms.map((term) => intersectRequirements(base, requirementsOf(term.matchExpressions)));
      return {
        uid,
        requests: vectorOf(dimensions, template.requests),
        hostPorts: template.hostPorts,
        alternatives: alternatives.map(withoutHostname),
        toleratesAll: (taints) => firstUntolerated(taints, template.tolerations) === undefined,
      };
    });
}

const meets = (offered: ValueSet, wanted: ValueSet): boolean =>
  hasIntersection(offered, wanted) || (admitsAbsence(offered) && admitsAbsence(wanted));

/** Whether each key that both sides name has a common value. */
export function intersects(a: Requirements, b: Requirements): boolean {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  for (const [key, set] of few) {
    const other = many.get(key);
    if (other !== undefined && !meets(other, set)) return false;
  }
  return true;
}

/** Returns the daemonsets that nodes of a template may carry, whatever their type. */
export function daemonsOfTemplate(
  daemons: readonly Daemon[],
  template: { readonly requirements: Requirements; readonly taints: readonly Taint[] },
  wellKnown: ReadonlySet<string>,
): readonly Daemon[] {
  return daemons.filter(
    (daemon) =>
      daemon.toleratesAll(template.taints) &&
      daemon.alternatives.some((wanted) =>
        isCompatible(template.requirements, wanted, { allowUndefined: wellKnown }),
      ),
  );
}

/** Returns those daemonsets that a node of this type carries. */
export const daemonsOfType = (daemons: readonly Daemon[], type: Requirements): readonly Daemon[] =>
  daemons.filter((daemon) => daemon.alternatives.some((wanted) => intersects(type, wanted)));

/** Returns the sum of the daemonsets' requests. */
export function overheadOf(daemons: readonly Daemon[], dimensions: Dimensions): Float64Array {
  const total = new Float64Array(dimensions.names.length);
  for (const daemon of daemons) addTo(total, daemon.requests, 1);
  return total;
}
