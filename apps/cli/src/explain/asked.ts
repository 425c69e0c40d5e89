import { messageOf } from '@dovetail/core-ports';

import { labAddress, labFiles } from '../lab/addresses.js';
import type { ExplainRequest } from './request.js';

/** The reaper's answer, and who gave it. */
export type Answer = { readonly status: number; readonly body: string; readonly by: string };

/** The longest wait for the reaper. It explains a node from memory, in milliseconds. */
const timeoutMs = 10_000;

/** The reaper could not be asked. The message says why, and what to do. */
export class NotAsked extends Error {
  override readonly name = 'NotAsked';
}

/** The network's own words: `fetch failed` has them in its cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? messageOf(error.cause)
    : messageOf(error);

async function askAddress(
  url: string,
  path: string,
  { by, remedy }: { readonly by: string; readonly remedy: string },
): Promise<Answer> {
  try {
    const page = new URL(path, `${url}/`);
    const response = await fetch(page, { signal: AbortSignal.timeout(timeoutMs) });
    return { status: response.status, body: await response.text(), by };
  } catch (error) {
    throw new NotAsked(`${by} cannot be asked (${reasonOf(error)}): ${remedy}`, { cause: error });
  }
}

async function askLeader(request: ExplainRequest, path: string): Promise<Answer> {
  // The client of Kubernetes is loaded here, so that the lab is asked at once.
  const { leadingReaper } = await import('./leader.js');
  const { askPod } = await import('@dovetail/adapter-kubernetes/pod-port');
  const where =
    request.kubeconfig === undefined
      ? 'no lab runs in this folder, and the leading reaper of the cluster'
      : 'the leading reaper of the cluster';
  try {
    const port = await leadingReaper(request);
    const by = `the leading reaper, pod ${port.namespace}/${port.pod},`;
    return { ...(await askPod(port, { path, timeoutMs })), by };
  } catch (error) {
    throw new NotAsked(
      `${where} cannot be asked (${messageOf(error)}): check --kubeconfig or KUBECONFIG, --namespace, and the rights to list Leases, to get pods and to get and create pods/portforward; or give the reaper's address with --reaper`,
      { cause: error },
    );
  }
}

/**
 * Asks the reaper for a path: at the address of the command line, of the lab in this folder, or
 * through the cluster. Throws NotAsked.
 */
export async function ask(request: ExplainRequest, path: string): Promise<Answer> {
  const { reaper, kubeconfig, namespace } = request;
  if (reaper !== undefined)
    return await askAddress(reaper, path, {
      by: `the reaper at ${reaper}`,
      remedy: 'check --reaper or REAPER_URL; without either, the command finds the reaper itself',
    });
  const ofLab =
    kubeconfig === undefined && namespace === undefined ? labAddress('reaper') : undefined;
  if (ofLab === undefined) return await askLeader(request, path);
  return await askAddress(ofLab, path, {
    by: `the reaper of this folder's lab at ${ofLab}`,
    remedy: `start the lab again with make lab, or remove ${labFiles.reaper} to ask the cluster of the kubeconfig`,
  });
}
