import { labels } from '@dovetail/core-api';
import {
  admitsAbsence,
  type DaemonSet,
  firstUntolerated,
  hasIntersection,
  type HostPort,
  intersectRequirements,
  isCompatible,
  type Requirements,
  requirementsFromLabels,
  requirementsOf,
  type Taint,
  type ValueSet,
} from '@dovetail/core-kube-model';

import { addTo, type Dimensions, vectorOf } from './dimensions.js';
import { usableTerms } from './levels.js';

/** A daemonset as planning sees it: what each of its pods takes, and which nodes it goes to. */
export type Daemon = {
  readonly uid: string;
  readonly requests: Float64Array;
  readonly hostPorts: readonly HostPort[];
  /**
   * Alternatives (OR). Preferences do not bind the daemonset controller, and its own hostname terms
   * are not known yet.
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

/** Daemonsets in a fixed order. PreferNoSchedule never keeps their pods away. */
export function daemonsOf(
  daemonSets: readonly DaemonSet[],
  dimensions: Dimensions,
): readonly Daemon[] {
  return [...daemonSets]
    .sort((a, b) => (a.uid < b.uid ? -1 : 1))
    .map(({ uid, template }) => {
      const base = requirementsFromLabels(template.nodeSelector);
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

/**
 * Labels that Karpenter's nodes will carry in the end; daemonsets may select them, nothing else
 * can.
 */
const lifecycleLabels = requirementsFromLabels({
  'karpenter.sh/registered': 'true',
  'karpenter.sh/initialized': 'true',
});

const meets = (offered: ValueSet, wanted: ValueSet): boolean =>
  hasIntersection(offered, wanted) || (admitsAbsence(offered) && admitsAbsence(wanted));

/** Whether keys that both sides know have a value in common. */
export function intersects(a: Requirements, b: Requirements): boolean {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  for (const [key, set] of few) {
    const other = many.get(key);
    if (other !== undefined && !meets(other, set)) return false;
  }
  return true;
}

/** The daemonsets that a template's nodes may carry, whatever their type. */
export function daemonsOfTemplate(
  daemons: readonly Daemon[],
  template: { readonly requirements: Requirements; readonly taints: readonly Taint[] },
  wellKnown: ReadonlySet<string>,
): readonly Daemon[] {
  const offered = intersectRequirements(template.requirements, lifecycleLabels);
  return daemons.filter(
    (daemon) =>
      daemon.toleratesAll(template.taints) &&
      daemon.alternatives.some((wanted) =>
        isCompatible(offered, wanted, { allowUndefined: wellKnown }),
      ),
  );
}

/** Of those, the ones that a node of this type carries. */
export const daemonsOfType = (daemons: readonly Daemon[], type: Requirements): readonly Daemon[] =>
  daemons.filter((daemon) => daemon.alternatives.some((wanted) => intersects(type, wanted)));

/** What daemonsets take together. */
export function overheadOf(daemons: readonly Daemon[], dimensions: Dimensions): Float64Array {
  const total = new Float64Array(dimensions.names.length);
  for (const daemon of daemons) addTo(total, daemon.requests, 1);
  return total;
}
