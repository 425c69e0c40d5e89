import type { Parsed, Raw, RequirementSpec } from '@dovetail/core-kube-model';
import {
  canonicalKey,
  Malformed,
  optional,
  parsed,
  readFlag,
  readInteger,
  readMeta,
  readObject,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
} from '@dovetail/core-kube-model';

import { contentHash } from '../content-hash.js';
import { labels as names } from '../names.js';
import type { NodeClassRef } from '../node-class.js';
import type { Pool } from '../pool.js';
import {
  conditionIsTrue,
  readConditions,
  readLimits,
  readNodeLabels,
  readPoolRequirements,
  readPoolTaints,
} from './fields.js';
import { readKubelet } from './kubelet.js';
import { readPoolAnnotations, readTemplateAnnotations } from './pool-annotations.js';

/**
 * The defaults that the legacy webhooks wrote for keys that a Provisioner did not name: linux,
 * amd64 and on-demand. Late releases narrowed types as well; that decides how nodes are sized
 * (`sizesOf`).
 */
function legacyDefaults(
  requirements: readonly RequirementSpec[],
  labels: Readonly<Record<string, string>>,
): readonly RequirementSpec[] {
  const said = new Set([
    ...requirements.map((one) => canonicalKey(one.key)),
    ...Object.keys(labels).map(canonicalKey),
  ]);
  const one = (key: string, value: string): readonly RequirementSpec[] =>
    said.has(key) ? [] : [{ key, operator: 'In', values: [value] }];
  return [
    ...one(names.os, 'linux'),
    ...one(names.arch, 'amd64'),
    ...one(names.capacityType, 'on-demand'),
  ];
}

function readProviderRef(spec: Raw, provisionerName: string): NodeClassRef {
  const inline = spec['provider'] !== undefined && spec['provider'] !== null;
  const referred = spec['providerRef'] !== undefined && spec['providerRef'] !== null;
  if (inline === referred)
    throw new Malformed(
      'spec.providerRef',
      spec['providerRef'],
      'write exactly one of providerRef (an AWSNodeTemplate) and provider',
    );
  if (inline) return { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: provisionerName };
  const ref = readRecord(spec['providerRef'], 'spec.providerRef');
  const apiVersion =
    readText(ref['apiVersion'], 'spec.providerRef.apiVersion') || 'karpenter.k8s.aws/v1alpha1';
  return {
    group: apiVersion.split('/')[0] ?? '',
    kind: readOneOf(
      ref['kind'],
      'spec.providerRef.kind',
      ['AWSNodeTemplate', 'EC2NodeClass'],
      'AWSNodeTemplate',
    ),
    name: readRequiredText(ref['name'], 'spec.providerRef.name'),
  };
}

/**
 * Reads the disruption of a Provisioner. It had no budgets, so all empty or drifted nodes may go at
 * once.
 */
function readLegacyDisruption(spec: Raw): Pool['disruption'] {
  const consolidation = readRecord(spec['consolidation'], 'spec.consolidation');
  const enabled = readFlag(consolidation['enabled'], 'spec.consolidation.enabled') ?? false;
  const emptySeconds = readInteger(spec['ttlSecondsAfterEmpty'], 'spec.ttlSecondsAfterEmpty', {
    min: 0,
  });
  if (enabled && emptySeconds !== undefined)
    throw new Malformed(
      'spec.ttlSecondsAfterEmpty',
      emptySeconds,
      'remove it, or switch consolidation off: they exclude each other',
    );
  const budgets = [{ nodes: { percent: 100 } }];
  if (enabled) return { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets };
  return {
    policy: 'WhenEmpty',
    ...optional('consolidateAfterMs', emptySeconds === undefined ? undefined : emptySeconds * 1000),
    budgets,
  };
}

function readExpiry(spec: Raw): number | undefined {
  const seconds = readInteger(spec['ttlSecondsUntilExpired'], 'spec.ttlSecondsUntilExpired', {
    min: 0,
  });
  return seconds === undefined ? undefined : seconds * 1000;
}

type LegacyTemplate = Pick<
  Pool,
  'labels' | 'annotations' | 'taints' | 'startupTaints' | 'classRef' | 'kubelet'
>;

function readLegacyTemplate(spec: Raw, provisionerName: string): LegacyTemplate {
  return {
    labels: readNodeLabels(spec['labels'], 'spec.labels'),
    annotations: readTemplateAnnotations(spec['annotations'], 'spec.annotations'),
    ...readPoolTaints(spec, 'spec'),
    classRef: readProviderRef(spec, provisionerName),
    ...(spec['kubeletConfiguration'] === undefined || spec['kubeletConfiguration'] === null
      ? {}
      : { kubelet: readKubelet(spec['kubeletConfiguration'], 'spec.kubeletConfiguration') }),
  };
}

/**
 * Reads a Provisioner of karpenter.sh/v1alpha5 with the defaults of its webhooks. Its nodes expire,
 * or go when they are empty, only if it says so. An inline provider is a class of kind
 * InlineProvider with the Provisioner's name (`inlineProviderOf`).
 */
export function provisionerOf(raw: unknown): Parsed<Pool> {
  return parsed((): Pool => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const template = readLegacyTemplate(spec, meta.name);
    const requirements = readPoolRequirements(spec['requirements'], 'spec.requirements');
    return {
      identity: { kind: 'Provisioner', name: meta.name },
      uid: meta.uid,
      resourceVersion: meta.resourceVersion,
      generation: meta.generation,
      createdMs: meta.createdMs,
      ...optional('deletionMs', meta.deletionMs),
      weight: readInteger(spec['weight'], 'spec.weight', { min: 1, max: 100 }) ?? 0,
      limits: readLimits(
        readRecord(spec['limits'], 'spec.limits')['resources'],
        'spec.limits.resources',
      ),
      ...template,
      requirements: [...requirements, ...legacyDefaults(requirements, template.labels)],
      hash: contentHash(template),
      ready: conditionIsTrue(readConditions(readRecord(object['status'], 'status')), 'Ready'),
      ...optional('expireAfterMs', readExpiry(spec)),
      disruption: readLegacyDisruption(spec),
      ...readPoolAnnotations(meta.annotations),
    };
  });
}
