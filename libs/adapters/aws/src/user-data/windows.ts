import type { UserDataInput } from '@dovetail/core-ports';

import { dnsIpsOf, kubeletArguments } from './kubelet.js';

/** Windows: the user's PowerShell first, then the image's own bootstrap script. */
export function windowsUserData(input: UserDataInput): string {
  const { cluster } = input;
  const [dnsIp] = dnsIpsOf(input);
  const call = [
    '& $EKSBootstrapScriptFile',
    `-EKSClusterName '${cluster.name}'`,
    `-APIServerEndpoint '${cluster.endpoint}'`,
    `-Base64ClusterCA '${cluster.certificateAuthority}'`,
    `-KubeletExtraArgs '${kubeletArguments(input)}'`,
    ...(dnsIp === undefined ? [] : [`-DNSClusterIP '${dnsIp}'`]),
  ];
  return [
    '<powershell>',
    ...(input.userData === undefined || input.userData === '' ? [] : [input.userData.trimEnd()]),
    '[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"',
    call.join(' '),
    '</powershell>',
  ].join('\n');
}
