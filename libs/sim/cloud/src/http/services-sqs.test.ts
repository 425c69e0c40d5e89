import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;
beforeAll(async () => {
  wire = await startWire({ region: 'eu-west-1', serve: { accessKeys: ['AKIDTEST'] } });
});
afterAll(() => wire.close());

describe('SQS', () => {
  const url = async (): Promise<string> =>
    (await wire.sqs.send(new GetQueueUrlCommand({ QueueName: 'lab' }))).QueueUrl ?? '';
  afterEach(() => {
    wire.twin.queue.purge();
  });

  test('names its queue, and no other', async () => {
    expect(await url()).toBe(`${wire.endpoint}/123456789012/lab`);
    await expect(
      wire.sqs.send(new GetQueueUrlCommand({ QueueName: 'other' })),
    ).rejects.toMatchObject({ name: 'QueueDoesNotExist' });
  });

  test('hides what was received, shows it again, and forgets what was deleted', async () => {
    const QueueUrl = await url();
    await wire.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{"a":"ä & <b>"}' }));
    const receive = async () =>
      (
        await wire.sqs.send(
          new ReceiveMessageCommand({
            QueueUrl,
            MaxNumberOfMessages: 10,
            VisibilityTimeout: 20,
            MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount'],
          }),
        )
      ).Messages ?? [];
    const [first] = await receive();
    expect(first).toMatchObject({
      Body: '{"a":"ä & <b>"}',
      Attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: expect.stringMatching(/^\d{13}$/) as unknown,
      },
    });
    expect(await receive()).toEqual([]);
    const { Attributes } = await wire.sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl,
        AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
      }),
    );
    expect(Attributes).toEqual({
      ApproximateNumberOfMessages: '0',
      ApproximateNumberOfMessagesNotVisible: '1',
    });
    wire.twin.advance(21_000);
    const [again] = await receive();
    expect(again?.Attributes?.['ApproximateReceiveCount']).toBe('2');
    await wire.sqs.send(
      new DeleteMessageCommand({ QueueUrl, ReceiptHandle: again?.ReceiptHandle }),
    );
    wire.twin.advance(21_000);
    expect(await receive()).toEqual([]);
  });

  test('a long poll ends when a message comes, when its time is over, and when the caller hangs up', async () => {
    const QueueUrl = await url();
    const waiting = wire.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await receivers(1);
    await wire.control('POST', 'messages', { body: 'not json' });
    expect((await waiting).Messages?.map(({ Body }) => Body)).toEqual(['not json']);
    const empty = wire.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await receivers(1);
    wire.twin.advance(20_000);
    expect((await empty).Messages ?? []).toEqual([]);
    const hangUp = new AbortController();
    const aborted = wire.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }), {
      abortSignal: hangUp.signal,
    });
    await receivers(1);
    hangUp.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    await receivers(0);
    await wire.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'kept' }));
    expect(
      (await wire.sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages?.map(
        ({ Body }) => Body,
      ),
    ).toEqual(['kept']);
  });

  test('drops messages after its retention', async () => {
    const QueueUrl = await url();
    await wire.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'old' }));
    wire.twin.advance(300_000);
    expect((await wire.sqs.send(new ReceiveMessageCommand({ QueueUrl }))).Messages ?? []).toEqual(
      [],
    );
  });
});

/** Asks until so many receivers wait at the queue. */
async function receivers(count: number): Promise<void> {
  for (let waiting = -1; waiting !== count;)
    waiting = ((await wire.control('GET', 'queue')).value as { waiting: number }).waiting;
}
