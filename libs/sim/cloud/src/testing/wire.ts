import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import type { Clock } from '@dovetail/core-ports';

import {
  accountFor,
  type AccountOptions,
  type CloudSettings,
  type CloudTwin,
  createCloud,
  serveCloud,
  type ServeOptions,
} from '../index.js';

/** Real time; tests order time with `twin.advance` instead of waiting. */
const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (durationMs, stop) =>
    new Promise((resolve) => {
      if (stop.aborted) {
        resolve();
        return;
      }
      const timer = setTimeout(resolve, durationMs);
      stop.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    }),
};

/** A served twin and unmodified AWS clients that talk to it, each call once. */
export type Wire = {
  readonly twin: CloudTwin;
  readonly endpoint: string;
  readonly ec2: EC2Client;
  readonly ssm: SSMClient;
  readonly sqs: SQSClient;
  readonly pricing: PricingClient;
  readonly iam: IAMClient;
  readonly eks: EKSClient;
  control(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; value: unknown }>;
  close(): Promise<void>;
};

export async function startWire(
  options: {
    region?: string;
    account?: Partial<AccountOptions>;
    settings?: Partial<CloudSettings>;
    serve?: ServeOptions;
  } = {},
): Promise<Wire> {
  const region = options.region ?? 'us-west-2';
  const account = accountFor(region, { clusterName: 'lab', ...options.account });
  const twin = createCloud({
    clock: systemClock,
    seed: 'seed',
    account,
    settings: { consistencyMs: 0, ...options.settings },
  });
  const served = await serveCloud(twin, options.serve);
  const config = {
    endpoint: served.endpoint,
    region,
    credentials: { accessKeyId: 'AKIDTEST', secretAccessKey: 'secret' },
    maxAttempts: 1,
  };
  const clients = {
    ec2: new EC2Client(config),
    ssm: new SSMClient(config),
    sqs: new SQSClient(config),
    pricing: new PricingClient(config),
    iam: new IAMClient(config),
    eks: new EKSClient(config),
  };
  return {
    twin,
    endpoint: served.endpoint,
    ...clients,
    async control(method, path, body) {
      const response = await fetch(`${served.endpoint}/_twin/${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, value: await response.json() };
    },
    async close() {
      for (const client of Object.values(clients)) client.destroy();
      twin.close();
      await served.close();
    },
  };
}
