import { compareText, isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { forbidden } from '../model/errors.js';
import { listOf } from '../model/json.js';
import type { LimitRange, LimitRangeItem, Pod, StoredObject } from '../model/objects.js';
import { podRequests } from '../model/pod-requests.js';
import { amountsOf } from '../model/quantity.js';
import type { Strategy, StrategyContext } from '../store/strategy.js';

const isContainer = ({ type }: LimitRangeItem): boolean => type === 'Container';

/** An item of a LimitRange with the values that the API server derives from the others. */
function completed(item: LimitRangeItem): LimitRangeItem {
  if (!isContainer(item)) return item;
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  return {
    ...item,
    ...(Object.keys(limits).length === 0 ? {} : { default: limits }),
    ...(Object.keys(requests).length === 0 ? {} : { defaultRequest: requests }),
  };
}

/** LimitRanges. */
export const limitRangeStrategy: Strategy = {
  defaults: (object) => ({
    ...object,
    spec: { limits: ((object as LimitRange).spec?.limits ?? []).map(completed) },
  }),
};

function itemsIn(context: StrategyContext, namespace: string): readonly LimitRangeItem[] {
  return [...context.table('limitranges').values()]
    .filter((range) => range.metadata.namespace === namespace)
    .sort((left, right) => compareText(left.metadata.name, right.metadata.name))
    .flatMap((range) => (range as LimitRange).spec?.limits ?? []);
}

function withDefaults(container: Raw, item: LimitRangeItem): Raw {
  const resources = recordOf(container['resources']);
  return {
    ...container,
    resources: {
      ...resources,
      limits: { ...item.default, ...recordOf(resources['limits']) },
      requests: { ...item.defaultRequest, ...recordOf(resources['requests']) },
    },
  };
}

/** A new pod's spec with the defaults of its namespace (the admission plug-in LimitRanger). */
export function limitedPodSpec(spec: Raw, pod: StoredObject, context: StrategyContext): Raw {
  const items = itemsIn(context, pod.metadata.namespace ?? '').filter(isContainer);
  if (items.length === 0) return spec;
  const limited = (list: unknown): readonly Raw[] =>
    listOf(list)
      .filter(isRecord)
      .map((container) => items.reduce(withDefaults, container));
  return {
    ...spec,
    containers: limited(spec['containers']),
    ...(spec['initContainers'] === undefined
      ? {}
      : { initContainers: limited(spec['initContainers']) }),
  };
}

type Kind = 'maximum' | 'minimum';

function refuse(pod: Pod, kind: Kind, name: string, type: string, bound: unknown): never {
  throw forbidden(
    { group: '', plural: 'pods', kind: 'Pod' },
    pod.metadata.name,
    `${kind} ${name} usage per ${type} is ${String(bound)}`,
  );
}

/** Throws 403 for a new pod that passes a maximum or minimum of its namespace. */
export function admitLimitRanges(pod: Pod, context: StrategyContext): void {
  for (const item of itemsIn(context, pod.metadata.namespace ?? '')) {
    const [max, min] = [amountsOf(item.max), amountsOf(item.min)];
    const uses = isContainer(item)
      ? pod.spec.containers.map(({ resources }) => ({
          requests: amountsOf(resources?.requests),
          limits: amountsOf(resources?.limits),
        }))
      : item.type === 'Pod'
        ? [{ requests: podRequests(pod), limits: podRequests(pod) }]
        : [];
    for (const { requests, limits } of uses) {
      for (const [name, most] of Object.entries(max))
        if ((limits[name] ?? Infinity) > most)
          refuse(pod, 'maximum', name, item.type, item.max?.[name]);
      for (const [name, least] of Object.entries(min))
        if ((requests[name] ?? 0) < least)
          refuse(pod, 'minimum', name, item.type, item.min?.[name]);
    }
  }
}
