import type { ClusterChange } from '@dovetail/core-cluster';
import { disruptionProtectionOf, isTerminal, type Pod } from '@dovetail/core-kube-model';
import { aboutPod, type EventRepeat } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';

/** Only a change is told here, so that no Event is the repeat of another. */
const neverRepeat: EventRepeat = { afterMs: 0 };

/**
 * Tells on pods how their annotation `karpenter.sh/do-not-disrupt` is understood, until the answer
 * is called: a text that says nothing protects nothing, and a duration ends some time. The Events
 * have the reasons of Karpenter 1.15. Pods that a new leader finds are told again.
 */
export function tellProtections({ cluster, events }: Pick<ReaperContext, 'cluster' | 'events'>) {
  const tell = (pod: Pod): void => tellProtection(events, pod);
  for (const pod of cluster.pods.values()) tell(pod);
  return cluster.subscribe((change: ClusterChange) => {
    if (change.kind !== 'pod' || change.after === undefined) return;
    const { before, after } = change;
    if (before === undefined || isOtherwiseProtected(before, after)) tell(after);
  });
}

const isOtherwiseProtected = (before: Pod, after: Pod): boolean =>
  JSON.stringify([disruptionProtectionOf(before), before.startMs]) !==
  JSON.stringify([disruptionProtectionOf(after), after.startMs]);

/** Tells how the annotation of one pod is understood, where people may expect something else. */
function tellProtection(events: ReaperContext['events'], pod: Pod): void {
  if (isTerminal(pod)) return;
  const about = aboutPod(pod);
  const protection = disruptionProtectionOf(pod);
  if (protection.kind === 'invalid') {
    const message = `The annotation karpenter.sh/do-not-disrupt is ${JSON.stringify(protection.text)} and protects nothing: write "true", or a duration above zero such as "4h"`;
    const told = { about, type: 'Warning', message } as const;
    events.record({ ...told, reason: 'InvalidDoNotDisruptAnnotation' }, neverRepeat);
  }
  if (protection.kind === 'for' && pod.startMs !== undefined) {
    const until = new Date(pod.startMs + protection.durationMs).toISOString();
    const message = `The pod is protected from voluntary disruption until ${until}`;
    events.record({ about, type: 'Normal', reason: 'DoNotDisruptUntil', message }, neverRepeat);
  }
}
