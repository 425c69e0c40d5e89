import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import type { SentObject, StoredObject } from '../model/objects.js';
import { autoscalerFromV1, autoscalerToV1 } from './convert-autoscaler.js';
import type { ResourceType } from './registry.js';

// Events exist once, under two groups with different names for the same fields.
const renamed: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
];

function withNames(object: Raw, direction: 'to-core' | 'from-core'): Raw {
  const copy: Record<string, unknown> = { ...object };
  for (const [modern, core] of renamed) {
    const [from, to] = direction === 'to-core' ? [modern, core] : [core, modern];
    if (!Object.hasOwn(copy, from)) continue;
    put(copy, to, lookUp(copy, from));
    delete copy[from];
  }
  return copy;
}

const isOldAutoscaler = (type: ResourceType): boolean =>
  type.group === 'autoscaling' && type.version === 'v1';

const isModernEvent = (type: ResourceType): boolean => type.group === 'events.k8s.io';

/**
 * The object in another version of its resource. Versions of custom resources differ in apiVersion
 * only.
 */
export function convertTo(
  type: ResourceType,
  object: StoredObject,
  apiVersion: string,
): StoredObject {
  if (isOldAutoscaler(type)) return { ...(autoscalerToV1(object) as StoredObject), apiVersion };
  const fields = isModernEvent(type) ? withNames(object, 'from-core') : object;
  return { ...fields, apiVersion, kind: type.kind, metadata: object.metadata };
}

/** A sent object in the form of the stored version. */
export function convertFrom(type: ResourceType, object: SentObject): SentObject {
  if (isOldAutoscaler(type)) return { ...autoscalerFromV1(object), apiVersion: 'autoscaling/v2' };
  if (!isModernEvent(type)) return object;
  const core = withNames(object, 'to-core');
  const source = isRecord(core['source']) ? core['source'] : recordOf(undefined);
  return { ...core, apiVersion: 'v1', kind: 'Event', source };
}
