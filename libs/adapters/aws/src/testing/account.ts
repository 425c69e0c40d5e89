import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CreateRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import {
  CreateQueueCommand,
  GetQueueUrlCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { Clock } from '@dovetail/core-ports';
import { accountFor, type CloudTwin, createCloud, serveCloud } from '@dovetail/sim-cloud';
import { forTests, isUnavailable, obtainMoto, startMoto } from '@dovetail/testbed';

import type { AwsConnection } from '../index.js';

export const systemClock: Clock = {
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

/** An account to run the suite in: an endpoint that speaks AWS' protocols. */
export type Account = {
  readonly connection: Required<Pick<AwsConnection, 'region' | 'endpoint' | 'credentials'>>;
  readonly queueName: string;
  readonly role: string;
  /** A public parameter that names an image. */
  readonly imageParameter: string;
  /**
   * False for moto, which answers the deletion of a missing template as a defect of the request.
   * EC2 says that it is not found.
   */
  readonly knowsMissingTemplates: boolean;
  /** Waits until every read shows fresh instances. */
  settle(): void;
  send(body: string): Promise<void>;
  stop(): Promise<void>;
};

const credentials = { accessKeyId: 'AKIATEST', secretAccessKey: 'secret' };
const region = 'us-east-1';

async function sender(
  connection: Account['connection'],
  queueName: string,
): Promise<Account['send']> {
  const sqs = new SQSClient(connection);
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: queueName }));
  return async (MessageBody) => {
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
  };
}

/** The cloud twin over HTTP, and the twin itself to arrange faults. */
export async function twinAccount(): Promise<Account & { readonly twin: CloudTwin }> {
  const twin = createCloud({
    clock: systemClock,
    seed: 'adapter',
    account: accountFor(region, { clusterName: 'lab', zones: ['a', 'b'] }),
  });
  const served = await serveCloud(twin);
  const connection = { region, endpoint: served.endpoint, credentials };
  return {
    twin,
    connection,
    queueName: 'lab',
    role: 'KarpenterNodeRole-lab',
    imageParameter:
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
    knowsMissingTemplates: true,
    settle: () => twin.advance(5_000),
    send: (body) => {
      twin.queue.send(body);
      return Promise.resolve();
    },
    stop: async () => {
      await served.close();
      twin.close();
    },
  };
}

/** moto's server, written by other people. Undefined if it cannot be had; the reason is printed. */
export async function motoAccount(): Promise<Account | undefined> {
  const moto = await forTests(obtainMoto);
  if (isUnavailable(moto)) {
    process.stderr.write(`LEFT OUT: the AWS adapter against moto, because ${moto.unavailable}\n`);
    return undefined;
  }
  const dir = mkdtempSync(join(tmpdir(), 'dovetail-moto-'));
  const server = await startMoto({ path: moto.path, dir });
  const connection = { region, endpoint: server.url, credentials };
  await new IAMClient(connection).send(
    new CreateRoleCommand({ RoleName: 'node', AssumeRolePolicyDocument: '{}' }),
  );
  await new SQSClient(connection).send(new CreateQueueCommand({ QueueName: 'lab' }));
  return {
    connection,
    queueName: 'lab',
    role: 'node',
    imageParameter: '/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64',
    knowsMissingTemplates: false,
    settle: () => undefined,
    send: await sender(connection, 'lab'),
    stop: async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
