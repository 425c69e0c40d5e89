import { bootFromScripts, callsBootstrap } from './bootstrap-script.js';
import { bootFromBottlerocket } from './bottlerocket.js';
import type { BootOutcome, UserDataFamily } from './config.js';
import { partsOf } from './mime.js';
import { bootFromNodeConfigs, isNodeConfig } from './node-config.js';

export type { BootConfig, BootOutcome, UserDataFamily } from './config.js';

const never = (reason: string): BootOutcome => ({ joins: false, reason });

/** Whether the text is standard base64. EC2 decodes user data for the machine. */
const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);

/** The family that user data is written for, when the image does not say. */
function guessFamily(text: string): UserDataFamily | undefined {
  const { parts } = partsOf(text);
  if (parts.some((part) => isNodeConfig(part))) return 'AL2023';
  if (parts.some((part) => callsBootstrap(part.body))) return 'AL2';
  return /^\s*\[?\s*"?settings[".\]]/m.test(text) ? 'Bottlerocket' : undefined;
}

/**
 * Boots a machine with its user data. On AL2, cloud-init runs the scripts that call
 * `/etc/eks/bootstrap.sh`. On AL2023, nodeadm merges the NodeConfig documents. Bottlerocket reads
 * TOML settings. Returns how the kubelet joins, or why it never will. `family` is the image's;
 * without it the text decides. The argument is the launch template's base64.
 */
export function bootFromUserData(
  userDataBase64: string | undefined,
  family?: UserDataFamily,
): BootOutcome {
  if (userDataBase64 === undefined || userDataBase64 === '')
    return never('there is no user data, so nothing tells the machine which cluster to join');
  if (!isBase64(userDataBase64)) return never('the user data is not base64');
  const text = Buffer.from(userDataBase64, 'base64').toString('utf8');
  switch (family ?? guessFamily(text)) {
    case 'AL2':
      return bootFromScripts(partsOf(text));
    case 'AL2023':
      return bootFromNodeConfigs(partsOf(text));
    case 'Bottlerocket':
      return bootFromBottlerocket(text);
    case undefined:
      return never(
        'the user data is neither a bootstrap.sh script, nor a NodeConfig, nor Bottlerocket settings',
      );
  }
}
