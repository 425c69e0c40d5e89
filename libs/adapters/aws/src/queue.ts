import { DeleteMessageCommand, GetQueueUrlCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Clock, InterruptionQueue, Log, StopSignal } from '@dovetail/core-ports';
import { AwsCalls, type CallLimits, type CallObserver } from './calls.js';
import { clientSettings, silenceVersionWarning, type AwsConnection } from './clients.js';

export type InterruptionQueueOptions = AwsConnection & {
  readonly queueName: string;
  readonly clock: Clock;
  readonly log?: Log;
  readonly observe?: CallObserver;
  readonly limits?: CallLimits;
  /** How long an empty queue is listened to before `receive` answers with nothing; AWS allows 20 s. */
  readonly waitSeconds?: number;
};

/** A message that nobody deletes comes back after this time: long enough to handle it, short enough for a two-minute notice. */
const visibilitySeconds = 20;

/** The SQS queue of interruption notices. Its URL is looked up by name at first use, and again after a failure. `close` ends its connections. */
export function createInterruptionQueue(options: InterruptionQueueOptions): InterruptionQueue & { close(): void } {
  silenceVersionWarning();
  const sqs = new SQSClient(clientSettings(options));
  const calls = new AwsCalls(options);
  const waitSeconds = options.waitSeconds ?? 20;
  let url: Promise<string> | undefined;
  const queueUrl = (): Promise<string> => {
    url ??= lookUp(sqs, calls, options.queueName).catch((error: unknown) => { url = undefined; throw error; });
    return url;
  };
  return {
    async receive(stop) {
      const QueueUrl = await queueUrl();
      const abort = abortWith(stop);
      try {
        return await receiveOnce(sqs, calls, { QueueUrl, waitSeconds, signal: abort.signal, stop });
      } catch (error) {
        if (stop.aborted) return [];
        url = undefined;
        throw error;
      } finally {
        abort.release();
      }
    },
    async delete(receipt) {
      const QueueUrl = await queueUrl();
      await calls.run('other', 'sqs:DeleteMessage', () => sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receipt })));
    },
    close: () => sqs.destroy(),
  };
}

async function lookUp(sqs: SQSClient, calls: AwsCalls, name: string): Promise<string> {
  const { QueueUrl } = await calls.run('other', 'sqs:GetQueueUrl', () => sqs.send(new GetQueueUrlCommand({ QueueName: name })));
  if (QueueUrl === undefined) throw new Error(`SQS answered no URL for queue ${name}`);
  return QueueUrl;
}

async function receiveOnce(sqs: SQSClient, calls: AwsCalls, query: { readonly QueueUrl: string; readonly waitSeconds: number; readonly signal: AbortSignal; readonly stop: StopSignal }) {
  const { Messages = [] } = await calls.run('other', 'sqs:ReceiveMessage', () => sqs.send(new ReceiveMessageCommand({
    QueueUrl: query.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: query.waitSeconds, VisibilityTimeout: visibilitySeconds,
    MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount'],
  }), { abortSignal: query.signal }), query.stop);
  return Messages.flatMap(({ Body, ReceiptHandle, Attributes }) => (ReceiptHandle === undefined ? [] : [{
    body: Body ?? '', receipt: ReceiptHandle,
    sentMs: Number(Attributes?.SentTimestamp ?? 0), receives: Number(Attributes?.ApproximateReceiveCount ?? 1),
  }]));
}

/** A signal for the SDK that follows the caller's; released when the call is over, so that a long-lived stop holds no listeners. */
function abortWith(stop: StopSignal): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (stop.aborted) abort();
  else stop.addEventListener('abort', abort, { once: true });
  return { signal: controller.signal, release: () => stop.removeEventListener('abort', abort) };
}
