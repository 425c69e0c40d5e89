import { lookUp } from '@dovetail/core-invariant';
import { type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';
import { afterCommand, type PodView } from './pod-status.js';

/**
 * The annotation by which kwok delays the end of a deleted pod: a duration as Go writes it, such as
 * `90s` or `1m30s`.
 */
export const kwokDelayAnnotation = 'pod-delete.stage.kwok.x-k8s.io/delay';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration as Go writes it, in milliseconds; undefined if the text is none. */
function goDurationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let durationMs = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    durationMs += Number(amount) * (lookUp(unitMs, unit ?? '') ?? 0);
  return durationMs;
}

/** The time that a container's preStop hook takes. A command that is not known takes none. */
function hookMs(container: Raw): number {
  const hook = recordOf(recordOf(container['lifecycle'])['preStop']);
  const words = listOf(recordOf(hook['exec'])['command']).map(textOf);
  return Number(recordOf(hook['sleep'])['seconds'] ?? 0) * 1_000 + afterCommand(words);
}

// The kubelet lets containers have 2 s after a hook that used up the grace period
// (minimumGracePeriodInSeconds in kuberuntime).
const afterHookMs = 2_000;

/** The grace period of a pod's deletion. */
export const graceMsOf = (pod: PodView): number =>
  Number(recordOf(pod.metadata)['deletionGracePeriodSeconds'] ?? 30) * 1_000;

/**
 * The time from a pod's deletion until its containers have ended: their longest preStop hook (an
 * action `sleep`, or an exec of `sleep <seconds>`), cut at the grace period, and `containersMs`
 * within the rest of it. kwok's annotation replaces all of this, except under a grace period of 0.
 */
export function stopMsOf(pod: PodView, containersMs: number): number {
  const graceMs = graceMsOf(pod);
  if (graceMs === 0) return 0;
  const delayMs = goDurationMs(pod.metadata.annotations?.[kwokDelayAnnotation] ?? '');
  if (delayMs !== undefined) return delayMs;
  const spec = recordOf(pod.spec);
  const containers = [...listOf(spec['containers']), ...listOf(spec['initContainers'])];
  const hooksMs = Math.max(0, ...containers.map((container) => hookMs(recordOf(container))));
  if (hooksMs === 0) return Math.min(containersMs, graceMs);
  const leftMs = Math.max(afterHookMs, graceMs - hooksMs);
  return Math.min(hooksMs, graceMs) + Math.min(containersMs, leftMs);
}
