import { setTimeout as pause } from 'node:timers/promises';

import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { messageOf } from '@dovetail/core-ports';

import { leftWithin, refusal, uninstallExitCodes } from './leftovers.js';

type Output = { out(text: string): void; err(text: string): void };

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Looks at a live cluster, and says whether Dovetail may go. It writes nothing. */
export async function checkUninstall(
  settleMs: number,
  kubeconfigPath: string | undefined,
  output: Output,
): Promise<number> {
  try {
    const kube = connectKubernetes({
      ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
      log: silent,
      mayWrite: () => false,
    });
    const left = await leftWithin(kube, settleMs, (ms) => pause(ms));
    if (left.length === 0) {
      output.out('nothing is left that needs Dovetail\n');
      return uninstallExitCodes.clear;
    }
    output.err(refusal(left));
    return uninstallExitCodes.left;
  } catch (error) {
    output.err(
      `the cluster cannot be read (${messageOf(error)}): check --kubeconfig or KUBECONFIG, and the right to list\n`,
    );
    return uninstallExitCodes.unavailable;
  }
}
