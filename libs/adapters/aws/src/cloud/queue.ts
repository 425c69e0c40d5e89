import {
  DeleteMessageBatchCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { InterruptionQueue, StopSignal } from '@dovetail/core-ports';

import type { AwsSession } from '../calls/session.js';

/** Which queue to read, and how long one read may wait. */
export type InterruptionQueueOptions = {
  readonly queueName: string;
  /** How long `receive` waits on an empty queue. The default is AWS' longest wait, 20 s. */
  readonly waitSeconds?: number;
};

/**
 * A message that is not deleted comes back after this time: enough to handle it, little for a
 * two-minute notice.
 */
const visibilitySeconds = 20;

/**
 * The SQS queue of interruption notices. Its URL is looked up by name at first use, and again after
 * a failure.
 */
export function awsInterruptionQueue(
  session: AwsSession,
  { queueName, waitSeconds = 20 }: InterruptionQueueOptions,
): InterruptionQueue {
  let url: Promise<string> | undefined;
  const queueUrl = (): Promise<string> => {
    url ??= lookUp(session, queueName).catch((error: unknown) => {
      url = undefined;
      throw error;
    });
    return url;
  };
  return {
    async receive(stop) {
      const QueueUrl = await queueUrl();
      const abort = abortWith(stop);
      try {
        return await receiveOnce(session, { QueueUrl, waitSeconds, signal: abort.signal, stop });
      } catch (error) {
        if (stop.aborted) return [];
        url = undefined;
        throw error;
      } finally {
        abort.release();
      }
    },
    async delete(receipts) {
      const QueueUrl = await queueUrl();
      const handfuls = Array.from({ length: Math.ceil(receipts.length / batchMax) }, (_, index) =>
        receipts.slice(index * batchMax, (index + 1) * batchMax),
      );
      const left = await Promise.all(
        handfuls.map((handful) => deleteBatch(session, QueueUrl, handful)),
      );
      return left.flat();
    },
  };
}

/** The most entries of one call, and messages of one receive, that SQS allows. */
const batchMax = 10;

/** Deletes up to ten messages. Answers the receipts that SQS did not take. */
async function deleteBatch(
  session: AwsSession,
  QueueUrl: string,
  receipts: readonly string[],
): Promise<readonly string[]> {
  const Entries = receipts.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }));
  const { Failed = [] } = await session.calls.run('queue', 'sqs:DeleteMessageBatch', () =>
    session.client(SQSClient).send(new DeleteMessageBatchCommand({ QueueUrl, Entries })),
  );
  const failed = new Set(Failed.map(({ Id }) => Number(Id)));
  return receipts.filter((_, index) => failed.has(index));
}

async function lookUp(session: AwsSession, name: string): Promise<string> {
  const { QueueUrl } = await session.calls.run('other', 'sqs:GetQueueUrl', () =>
    session.client(SQSClient).send(new GetQueueUrlCommand({ QueueName: name })),
  );
  if (QueueUrl === undefined) throw new Error(`SQS returned no URL for queue ${name}`);
  return QueueUrl;
}

async function receiveOnce(
  session: AwsSession,
  query: {
    readonly QueueUrl: string;
    readonly waitSeconds: number;
    readonly signal: AbortSignal;
    readonly stop: StopSignal;
  },
) {
  const { Messages = [] } = await session.calls.run(
    'queue',
    'sqs:ReceiveMessage',
    () =>
      session
        .client(SQSClient)
        .send(
          new ReceiveMessageCommand({
            QueueUrl: query.QueueUrl,
            MaxNumberOfMessages: batchMax,
            WaitTimeSeconds: query.waitSeconds,
            VisibilityTimeout: visibilitySeconds,
            MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount'],
          }),
          { abortSignal: query.signal },
        ),
    query.stop,
  );
  return Messages.flatMap(({ Body, ReceiptHandle, Attributes }) =>
    ReceiptHandle === undefined
      ? []
      : [
          {
            body: Body ?? '',
            receipt: ReceiptHandle,
            sentMs: Number(Attributes?.SentTimestamp ?? 0),
            receives: Number(Attributes?.ApproximateReceiveCount ?? 1),
          },
        ],
  );
}

/**
 * A signal for the SDK that follows the caller's. Release it after the call, or a long-lived `stop`
 * collects listeners.
 */
function abortWith(stop: StopSignal): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (stop.aborted) abort();
  else stop.addEventListener('abort', abort, { once: true });
  return { signal: controller.signal, release: () => stop.removeEventListener('abort', abort) };
}
