import type { RenderedUserData, UserDataInput, UserDataRenderer } from '@dovetail/core-ports';

import { al2UserData, al2023UserData } from './amazon-linux.js';
import { bottlerocketUserData } from './bottlerocket.js';
import { UserDataProblem } from './problem.js';
import { windowsUserData } from './windows.js';

/** EC2's limit, before base64. */
const userDataBytesMax = 16_384;

/**
 * Makes user data for each AMI family, as Karpenter's users know it: their part first, and the
 * settings that the plan relies on last.
 */
export const userDataRenderer: UserDataRenderer = { render: renderUserData };

/**
 * The user data of a node, in base64. Refused, with a message for the class' status, if a field
 * cannot be written or EC2's limit is exceeded.
 */
export function renderUserData(input: UserDataInput): RenderedUserData {
  try {
    refuseQuotes(input);
    const bytes = Buffer.from(textFor(input), 'utf8');
    if (bytes.length > userDataBytesMax)
      return {
        ok: false,
        message: `user data has ${bytes.length} bytes, EC2 takes ${userDataBytesMax}: shorten spec.userData`,
      };
    return { ok: true, base64: bytes.toString('base64'), bytes: bytes.length };
  } catch (error) {
    if (error instanceof UserDataProblem) return { ok: false, message: error.message };
    throw error;
  }
}

function textFor(input: UserDataInput): string {
  switch (input.family) {
    case 'AL2':
      return al2UserData(input);
    case 'AL2023':
      return al2023UserData(input);
    case 'Bottlerocket':
      return bottlerocketUserData(input);
    case 'Windows2019':
    case 'Windows2022':
    case 'Windows2025':
      return windowsUserData(input);
    // A custom image bootstraps itself. Its author registers the unregistered taint.
    case 'Custom':
      return input.userData ?? '';
  }
}

/**
 * Scripts quote these values. A quote or line break in one would end the quotation and run the
 * rest.
 */
function refuseQuotes(input: UserDataInput): void {
  const { cluster, kubelet } = input;
  const values: readonly (readonly [string, string])[] = [
    ['the cluster’s name', cluster.name],
    ['the cluster’s endpoint', cluster.endpoint],
    ['the cluster’s certificate authority', cluster.certificateAuthority],
    ...Object.entries(input.labels).map(
      ([key, value]) => [`label ${key}`, `${key}${value}`] as const,
    ),
    ...input.taints.map(
      (taint) => [`taint ${taint.key}`, `${taint.key}${taint.value ?? ''}`] as const,
    ),
    ...[
      kubelet.systemReserved,
      kubelet.kubeReserved,
      kubelet.evictionHard,
      kubelet.evictionSoft,
      kubelet.evictionSoftGracePeriod,
    ]
      .flatMap((map) => Object.entries(map ?? {}))
      .map(([key, value]) => [`kubelet setting ${key}`, `${key}${value}`] as const),
    ...(kubelet.clusterDNS ?? []).map((ip) => ['spec.kubelet.clusterDNS', ip] as const),
  ];
  const bad = values.find(([, value]) => /['"`$\\\n\r]/.test(value));
  if (bad !== undefined)
    throw new UserDataProblem(
      `${bad[0]} holds a quote, backslash, dollar sign or line break, which a boot script cannot carry: ${JSON.stringify(bad[1])}`,
    );
}
