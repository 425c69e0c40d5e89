import { lookUp, put } from '@dovetail/core-invariant';

import type {
  CsiNode,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
} from '../node.js';
import type { NodeSelectorTerm } from '../pod.js';
import type { RequirementSpec } from '../requirement.js';
import { readMeta, readObject } from './meta.js';
import type { Parsed, Raw } from './raw.js';
import {
  optional,
  parsed,
  readEach,
  readInteger,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
  readTexts,
} from './raw.js';
import { readNodeSelector } from './terms.js';

/** The CSI driver that replaced each in-tree volume source (k8s.io/csi-translation-lib). */
const driverOfSource: Readonly<Record<string, string>> = {
  awsElasticBlockStore: 'ebs.csi.aws.com',
  gcePersistentDisk: 'pd.csi.storage.gke.io',
  azureDisk: 'disk.csi.azure.com',
  azureFile: 'file.csi.azure.com',
  vsphereVolume: 'csi.vsphere.vmware.com',
  cinder: 'cinder.csi.openstack.org',
  portworxVolume: 'pxd.portworx.com',
};
const driverOfProvisioner: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
};

function readDriver(spec: Raw): string | undefined {
  if (spec['csi'] !== undefined)
    return readText(readRecord(spec['csi'], 'spec.csi')['driver'], 'spec.csi.driver');
  return Object.entries(driverOfSource).find(([source]) => lookUp(spec, source) !== undefined)?.[1];
}

const zoneLabels = [
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
];

/**
 * Adds the zone and region labels of a volume to its node affinity, as kube-scheduler's VolumeZone
 * does. `a__b` means a or b.
 */
function withZoneLabels(
  terms: readonly NodeSelectorTerm[] | undefined,
  labels: Readonly<Record<string, string>>,
): readonly NodeSelectorTerm[] | undefined {
  const zones = zoneLabels
    .filter((key) => Object.hasOwn(labels, key))
    .map((key): RequirementSpec => ({
      key,
      operator: 'In',
      values: (lookUp(labels, key) ?? '').split('__'),
    }));
  if (zones.length === 0) return terms;
  return (terms ?? [{ matchExpressions: [], matchFields: [] }]).map((term) => ({
    ...term,
    matchExpressions: [...term.matchExpressions, ...zones],
  }));
}

/** Reads a PersistentVolume of v1. */
export function pvOf(raw: unknown): Parsed<PersistentVolume> {
  return parsed((): PersistentVolume => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const affinity = readRecord(spec['nodeAffinity'], 'spec.nodeAffinity');
    return {
      uid: meta.uid,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      ...optional('deletionMs', meta.deletionMs),
      ...optional(
        'nodeAffinity',
        withZoneLabels(
          readNodeSelector(affinity['required'], 'spec.nodeAffinity.required'),
          meta.labels,
        ),
      ),
      ...optional('driver', readDriver(spec)),
      local: spec['local'] !== undefined || spec['hostPath'] !== undefined,
    };
  });
}

/**
 * Reads a PersistentVolumeClaim of v1. An empty storageClassName (no class) differs from an absent
 * one (the default).
 */
export function pvcOf(raw: unknown): Parsed<PersistentVolumeClaim> {
  return parsed((): PersistentVolumeClaim => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const status = readRecord(object['status'], 'status');
    const className =
      readText(spec['storageClassName'], 'spec.storageClassName') ??
      meta.annotations['volume.beta.kubernetes.io/storage-class'];
    return {
      uid: meta.uid,
      namespace: meta.namespace,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      ...optional('deletionMs', meta.deletionMs),
      phase: readOneOf(status['phase'], 'status.phase', ['Pending', 'Bound', 'Lost'], 'Pending'),
      ...optional('volumeName', readText(spec['volumeName'], 'spec.volumeName') || undefined),
      bindCompleted: Object.hasOwn(meta.annotations, 'pv.kubernetes.io/bind-completed'),
      ...optional('storageClassName', className),
      ...(readTexts(spec['accessModes'], 'spec.accessModes').includes('ReadWriteOncePod')
        ? { onePod: true }
        : {}),
    };
  });
}

const readTopologies = (object: Raw): readonly NodeSelectorTerm[] =>
  readEach(object['allowedTopologies'], 'allowedTopologies', (item, path): NodeSelectorTerm => ({
    matchExpressions: readEach(
      item['matchLabelExpressions'],
      `${path}.matchLabelExpressions`,
      (one, at): RequirementSpec => ({
        key: readRequiredText(one['key'], `${at}.key`),
        operator: 'In',
        values: readTexts(one['values'], `${at}.values`),
      }),
    ),
    matchFields: [],
  }));

/** Reads a StorageClass of storage.k8s.io/v1. */
export function storageClassOf(raw: unknown): Parsed<StorageClass> {
  return parsed((): StorageClass => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const provisioner = readText(object['provisioner'], 'provisioner') ?? '';
    const topologies = readTopologies(object);
    return {
      uid: meta.uid,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      createdMs: meta.createdMs,
      isDefault: [
        'storageclass.kubernetes.io/is-default-class',
        'storageclass.beta.kubernetes.io/is-default-class',
      ].some((key) => lookUp(meta.annotations, key) === 'true'),
      provisioner: lookUp(driverOfProvisioner, provisioner) ?? provisioner,
      bindingMode: readOneOf(
        object['volumeBindingMode'],
        'volumeBindingMode',
        ['Immediate', 'WaitForFirstConsumer'],
        'Immediate',
      ),
      ...(topologies.length === 0 ? {} : { allowedTopologies: topologies }),
    };
  });
}

/** Reads a CSINode of storage.k8s.io/v1. A driver without a count has no limit. */
export function csiNodeOf(raw: unknown): Parsed<CsiNode> {
  return parsed((): CsiNode => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const limits: Record<string, number> = {};
    readEach(readRecord(object['spec'], 'spec')['drivers'], 'spec.drivers', (item, path) => {
      const count = readInteger(
        readRecord(item['allocatable'], `${path}.allocatable`)['count'],
        `${path}.allocatable.count`,
        { min: 0 },
      );
      if (count !== undefined) put(limits, readRequiredText(item['name'], `${path}.name`), count);
    });
    return { uid: meta.uid, name: meta.name, resourceVersion: meta.resourceVersion, limits };
  });
}

/** Reads a VolumeAttachment of storage.k8s.io/v1. */
export function volumeAttachmentOf(raw: unknown): Parsed<VolumeAttachment> {
  return parsed((): VolumeAttachment => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const source = readRecord(spec['source'], 'spec.source');
    return {
      uid: meta.uid,
      name: meta.name,
      resourceVersion: meta.resourceVersion,
      nodeName: readRequiredText(spec['nodeName'], 'spec.nodeName'),
      ...optional(
        'volumeName',
        readText(source['persistentVolumeName'], 'spec.source.persistentVolumeName') || undefined,
      ),
    };
  });
}
