import { isRecord } from '@dovetail/core-kube-model';
import type { UserDataInput } from '@dovetail/core-ports';
import { parse, stringify } from 'yaml';

import { dnsIpsOf, kubeletArguments, kubeletLabels, kubeletTaints } from './kubelet.js';
import { isMime, type MimePart, multipart, part, partsOf, shellPart, unixLines } from './mime.js';
import { UserDataProblem } from './problem.js';

/** AL2: the user's parts first, then a script that calls the image's bootstrap.sh. */
export function al2UserData(input: UserDataInput): string {
  return multipart([...userParts(input.userData, shellPart), shellPart(bootstrapScript(input))]);
}

function bootstrapScript(input: UserDataInput): string {
  const { cluster, instanceStorePolicy } = input;
  const [dnsIp] = dnsIpsOf(input);
  const command = [
    `/etc/eks/bootstrap.sh '${cluster.name}'`,
    `--apiserver-endpoint '${cluster.endpoint}'`,
    `--b64-cluster-ca '${cluster.certificateAuthority}'`,
    ...(dnsIp?.includes(':') === true ? ['--ip-family ipv6'] : []),
    ...(dnsIp === undefined ? [] : [`--dns-cluster-ip '${dnsIp}'`]),
    // Otherwise the script computes a second limit beside the one in the arguments.
    '--use-max-pods false',
    `--kubelet-extra-args '${kubeletArguments(input)}'`,
    ...(instanceStorePolicy === 'RAID0' ? ['--local-disks raid0'] : []),
  ];
  return [
    '#!/bin/bash -xe',
    'exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1',
    command.join(' \\\n'),
  ].join('\n');
}

const nodeConfigType = 'application/node.eks.aws';

/**
 * AL2023: the user's parts first, then our NodeConfig. nodeadm merges in order, so the settings the
 * plan relies on win.
 */
export function al2023UserData(input: UserDataInput): string {
  const own = (text: string): MimePart =>
    isMapping(text) ? part(nodeConfigType, text) : shellPart(text);
  return multipart([...userParts(input.userData, own), part(nodeConfigType, nodeConfig(input))]);
}

function nodeConfig(input: UserDataInput): string {
  const document = {
    apiVersion: 'node.eks.aws/v1alpha1',
    kind: 'NodeConfig',
    spec: {
      cluster: clusterConfig(input.cluster),
      ...(input.instanceStorePolicy === 'RAID0'
        ? { instance: { localStorage: { strategy: 'RAID0' } } }
        : {}),
      kubelet: { config: kubeletConfig(input), flags: [labelsFlag(input)] },
    },
  };
  return stringify(document, {
    sortMapEntries: true,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  }).trimEnd();
}

function clusterConfig({
  name,
  endpoint,
  certificateAuthority,
  serviceCidr,
}: UserDataInput['cluster']) {
  if (serviceCidr === undefined)
    throw new UserDataProblem(
      'the cluster’s service CIDR is not known, and AL2023 cannot join without it; allow eks:DescribeCluster or set CLUSTER_SERVICE_CIDR',
    );
  return { name, apiServerEndpoint: endpoint, certificateAuthority, cidr: serviceCidr };
}

function kubeletConfig(input: UserDataInput) {
  const dnsIps = dnsIpsOf(input);
  const { others, ...understood } = input.kubelet;
  return {
    ...others,
    ...understood,
    ...(dnsIps.length === 0 ? {} : { clusterDNS: dnsIps }),
    maxPods: input.maxPods,
    registerWithTaints: kubeletTaints(input).map(({ key, value, effect }) => ({
      key,
      ...(value === undefined ? {} : { value }),
      effect,
    })),
  };
}

function labelsFlag(input: UserDataInput): string {
  const labels = Object.entries(kubeletLabels(input)).map(([key, value]) => `${key}=${value}`);
  return `--node-labels="${labels.join(',')}"`;
}

/** The user's data as parts: those of a MIME message, or plain text in one part made by `wrap`. */
function userParts(
  userData: string | undefined,
  wrap: (text: string) => MimePart,
): readonly MimePart[] {
  if (userData === undefined || userData.trim() === '') return [];
  if (!isMime(userData)) return [wrap(unixLines(userData).trimEnd())];
  const parts = partsOf(userData);
  if (parts === undefined)
    throw new UserDataProblem(
      'spec.userData begins like a MIME message but has no usable boundary; close every part with it, or give plain text',
    );
  return parts;
}

/** Whether the text is a YAML mapping, as a NodeConfig is; a script is at most one long string. */
function isMapping(text: string): boolean {
  try {
    return isRecord(parse(text));
  } catch {
    return false;
  }
}
