import { join } from 'node:path';

import type { KarpenterProgram } from '../obtain/karpenter.js';
import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';
import type { LabOptions } from './options.js';

/**
 * Starts Karpenter's AWS controller against the cloud twin. Returns when it reports that it is
 * ready. Its metrics are at `httpUrl`. Its clock is the machine's, so it does not follow the lab's.
 */
export async function startKarpenter(
  options: LabOptions,
  program: KarpenterProgram,
  at: { readonly kubeconfig: string; readonly cloudUrl: string },
): Promise<RunningPart> {
  const [health, metrics] = [await freePort(), await freePort()];
  const part = await startPart({
    name: 'karpenter',
    command: program.path,
    args: [],
    logFile: join(options.dir, 'logs', 'karpenter.log'),
    env: {
      CLUSTER_NAME: options.clusterName,
      KUBECONFIG: at.kubeconfig,
      AWS_REGION: options.region,
      AWS_ENDPOINT_URL: at.cloudUrl,
      AWS_ACCESS_KEY_ID: 'karpenter',
      AWS_SECRET_ACCESS_KEY: 'lab',
      // No instance metadata service answers here, and the client would wait for it.
      AWS_EC2_METADATA_DISABLED: 'true',
      INTERRUPTION_QUEUE: options.clusterName,
      SYSTEM_NAMESPACE: 'kube-system',
      DISABLE_LEADER_ELECTION: 'true',
      HEALTH_PROBE_PORT: String(health),
      METRICS_PORT: String(metrics),
      LOG_LEVEL: 'debug',
      ...options.env?.['karpenter'],
    },
    ready: async () => (await httpRequest(`http://127.0.0.1:${health}/readyz`)).status === 200,
    readyDeadlineMs: 120_000,
  });
  return Object.assign(part, { httpUrl: `http://127.0.0.1:${metrics}` });
}
