import type { Node } from '../node.js';
import type { Namespace, PodDisruptionBudget } from '../pod.js';
import { managedAnnotations, readMeta, readObject, readResources } from './meta.js';
import type { Parsed, Raw } from './raw.js';
import {
  Malformed,
  optional,
  parsed,
  readEach,
  readFlag,
  readInteger,
  readOneOf,
  readRecord,
  readText,
} from './raw.js';
import { readSelector, readTaints } from './terms.js';

const isReady = (status: Raw): boolean =>
  readEach(status['conditions'], 'status.conditions', (item) => item).some(
    (condition) => condition['type'] === 'Ready' && condition['status'] === 'True',
  );

const internalIp = (status: Raw): string | undefined =>
  readEach(status['addresses'], 'status.addresses', (item, path) => ({
    type: readText(item['type'], `${path}.type`),
    address: readText(item['address'], `${path}.address`),
  })).find(({ type }) => type === 'InternalIP')?.address;

/**
 * Reads a Node of v1. Without allocatable, its capacity stands for it, as the API server defaults
 * it.
 */
export function nodeOf(raw: unknown): Parsed<Node> {
  return parsed((): Node => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const status = readRecord(object['status'], 'status');
    return {
      uid: meta.uid,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      labels: meta.labels,
      annotations: managedAnnotations(meta.annotations),
      createdMs: meta.createdMs,
      ...optional('deletionMs', meta.deletionMs),
      finalizers: meta.finalizers,
      ...optional('providerId', readText(spec['providerID'], 'spec.providerID') || undefined),
      taints: readTaints(spec['taints'], 'spec.taints'),
      cordoned: readFlag(spec['unschedulable'], 'spec.unschedulable') ?? false,
      ready: isReady(status),
      capacity: readResources(status['capacity'], 'status.capacity'),
      allocatable: readResources(status['allocatable'] ?? status['capacity'], 'status.allocatable'),
      ...optional('internalIp', internalIp(status)),
      ...optional(
        'kubeletVersion',
        readText(
          readRecord(status['nodeInfo'], 'status.nodeInfo')['kubeletVersion'],
          'status.nodeInfo.kubeletVersion',
        ),
      ),
    };
  });
}

/** Reads a Namespace of v1. */
export function namespaceOf(raw: unknown): Parsed<Namespace> {
  return parsed((): Namespace => {
    const meta = readMeta(readObject(raw));
    return {
      uid: meta.uid,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      labels: meta.labels,
    };
  });
}

const countOrPercent = /^[0-9]+%?$/;

function readCount(raw: unknown, field: string): string | undefined {
  if (raw === undefined || raw === null) return undefined;
  const text = typeof raw === 'number' ? String(raw) : raw;
  if (typeof text !== 'string' || !countOrPercent.test(text))
    throw new Malformed(field, raw, 'write a count such as 1, or a percentage such as "50%"');
  return text;
}

/**
 * Reads a PodDisruptionBudget of policy/v1. Until its controller writes a status, it allows no
 * disruption.
 */
export function pdbOf(raw: unknown): Parsed<PodDisruptionBudget> {
  return parsed((): PodDisruptionBudget => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const status = readRecord(object['status'], 'status');
    return {
      uid: meta.uid,
      namespace: meta.namespace,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      ...optional('selector', readSelector(spec['selector'], 'spec.selector')),
      ...optional('minAvailable', readCount(spec['minAvailable'], 'spec.minAvailable')),
      ...optional('maxUnavailable', readCount(spec['maxUnavailable'], 'spec.maxUnavailable')),
      unhealthyPodEvictionPolicy: readOneOf(
        spec['unhealthyPodEvictionPolicy'],
        'spec.unhealthyPodEvictionPolicy',
        ['IfHealthyBudget', 'AlwaysAllow'],
        'IfHealthyBudget',
      ),
      disruptionsAllowed:
        readInteger(status['disruptionsAllowed'], 'status.disruptionsAllowed') ?? 0,
    };
  });
}
