import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { type KubeWatches, type Log, messageOf, type StopSignal } from '@dovetail/core-ports';

import { shadowExitCodes, type ShadowRequest } from './request.js';
import { runShadow } from './run.js';

type Output = { out(text: string): void; err(text: string): void };

/** Failures of watches, which the command tells itself, one line for all of them. */
const ofWatches = ['watch-failed', 'resource-not-served'];

/** Tells other warnings, once for each reason. */
function logTo(output: Output): Log {
  const told = new Set<string>();
  const say = (name: string, message: string): void => {
    if (ofWatches.includes(name) || told.has(message)) return;
    told.add(message);
    output.err(`${message}\n`);
  };
  return { debug: () => undefined, info: () => undefined, warn: say, error: say };
}

const clock = {
  nowMs: () => Date.now(),
  sleep: (durationMs: number, stop: StopSignal): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        stop.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, durationMs);
      if (stop.aborted) end();
      else stop.addEventListener('abort', end, { once: true });
    }),
};

/** The cluster; undefined, with the reason told, if no kubeconfig names one. */
function connected(kubeconfigPath: string | undefined, output: Output): KubeWatches | undefined {
  try {
    return connectKubernetes({
      ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
      log: logTo(output),
      mayWrite: () => false,
    });
  } catch (error) {
    // An unreadable kubeconfig is an error of the file system or of the parser.
    output.err(
      `there is no cluster to watch (${messageOf(error)}): name a kubeconfig with --kubeconfig or KUBECONFIG\n`,
    );
    return undefined;
  }
}

/** Compares on a live cluster. Every write is refused before it is sent. */
export async function shadowLive(
  request: ShadowRequest,
  kubeconfigPath: string | undefined,
  output: Output,
  stop: StopSignal,
): Promise<number> {
  const kube = connected(kubeconfigPath, output);
  return kube === undefined
    ? shadowExitCodes.unavailable
    : await runShadow(request, { kube, clock }, output, stop);
}
