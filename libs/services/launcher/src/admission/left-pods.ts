import { compareText, type Pod } from '@dovetail/core-kube-model';
import type { Reason } from '@dovetail/core-scheduling';
import { countText, groupBy } from '@dovetail/service-kit';

import { reason } from './reason.js';

/** The most pods that a note names. */
const namedMax = 5;

/**
 * Notes about the pods that name another scheduler than Kubernetes' own. They are planned for as
 * others are, and that scheduler alone binds them.
 */
export function leftPods(pods: readonly Pod[]): readonly Reason[] {
  const left = pods.filter(({ schedulerName }) => schedulerName !== 'default-scheduler');
  return [...groupBy(left, ({ schedulerName }) => schedulerName)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([scheduler, own]) => {
      const names = own.map(({ namespace, name }) => `${namespace}/${name}`).sort(compareText);
      const more = names.length - namedMax;
      const named = [
        ...names.slice(0, namedMax),
        ...(more > 0 ? [`${countText(more, 'more pod')}`] : []),
      ].join(', ');
      return reason(
        'left-to-scheduler',
        `scheduler ${scheduler} alone binds ${named}: Dovetail leaves its pods to it`,
        { scheduler, pods: names.length },
      );
    });
}
