import { lookUp } from '@dovetail/core-invariant';
import { compareText, isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { forbidden } from '../model/errors.js';
import { listOf } from '../model/json.js';
import type {
  LimitRange,
  LimitRangeItem,
  Pod,
  Quantities,
  StoredObject,
} from '../model/objects.js';
import { podLimits, podRequests } from '../model/pod-requests.js';
import { type Amounts, parseMillis, quantityText } from '../model/quantity.js';
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

type Uses = { readonly requests: Quantities; readonly limits: Quantities };

/** The words for a pod, or one of its containers, that passes one bound; undefined if none is. */
function passedBound(
  kind: 'maximum' | 'minimum',
  { name, type, bound }: { readonly name: string; readonly type: string; readonly bound: string },
  uses: Uses,
): string | undefined {
  const usage = `${kind} ${name} usage per ${type} is ${bound}`;
  const needed = kind === 'maximum' ? 'limit' : 'request';
  const values = { request: lookUp(uses.requests, name), limit: lookUp(uses.limits, name) };
  if (values[needed] === undefined) return `${usage}.  No ${needed} is specified`;
  const order =
    kind === 'maximum' ? (['limit', 'request'] as const) : (['request', 'limit'] as const);
  const sign = kind === 'maximum' ? 1 : -1;
  for (const one of order) {
    const value = values[one];
    if (value === undefined) continue;
    const beyond = sign * ((parseMillis(value) ?? 0) - (parseMillis(bound) ?? 0));
    if (beyond > 0) return `${usage}, but ${one} is ${value}`;
  }
  return undefined;
}

const textsOf = (amounts: Amounts): Quantities =>
  Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => [name, quantityText(name, amount)]),
  );

function usesUnder(item: LimitRangeItem, pod: Pod): readonly Uses[] {
  if (isContainer(item))
    return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(({ resources }) => ({
      requests: resources?.requests ?? {},
      limits: resources?.limits ?? {},
    }));
  if (item.type !== 'Pod') return [];
  return [{ requests: textsOf(podRequests(pod)), limits: textsOf(podLimits(pod)) }];
}

function passedBounds(item: LimitRangeItem, uses: Uses): readonly string[] {
  const of = (kind: 'maximum' | 'minimum', bounds: Quantities = {}): readonly string[] =>
    Object.entries(bounds)
      .sort(([left], [right]) => compareText(left, right))
      .flatMap(([name, bound]) => {
        const about = { name, type: item.type, bound: String(bound) };
        return passedBound(kind, about, uses) ?? [];
      });
  return [...of('minimum', item.min), ...of('maximum', item.max)];
}

/** Throws 403 for a new pod that passes a maximum or minimum of its namespace. */
export function admitLimitRanges(pod: Pod, context: StrategyContext): void {
  const passed = itemsIn(context, pod.metadata.namespace ?? '').flatMap((item) =>
    usesUnder(item, pod).flatMap((uses) => passedBounds(item, uses)),
  );
  if (passed.length === 0) return;
  throw forbidden(
    { group: '', plural: 'pods', kind: 'Pod' },
    pod.metadata.name,
    passed.length === 1 ? (passed[0] ?? '') : `[${passed.join(', ')}]`,
  );
}
