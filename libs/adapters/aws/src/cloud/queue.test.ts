import { GetQueueUrlCommand, type ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { neverStopping } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import type { AwsSession } from '../calls/session.js';
import { awsInterruptionQueue } from './queue.js';

type Sqs = {
  readonly session: AwsSession;
  /** The address of the queue as SQS has it now; undefined: there is no such queue. */
  url: string | undefined;
  /** The calls that came, and the address of each. */
  readonly asked: string[];
};

const queueName = 'dovetail';

/** SQS with one queue, which can go and come back under another address. */
function sqs(): Sqs {
  const told: Omit<Sqs, 'session'> = { url: undefined, asked: [] };
  const answer = async (call: GetQueueUrlCommand | ReceiveMessageCommand) => {
    const isLookUp = call instanceof GetQueueUrlCommand;
    const url = isLookUp ? told.url : call.input.QueueUrl;
    told.asked.push(`${isLookUp ? 'look up' : 'receive'} ${url ?? 'nothing'}`);
    if (url === undefined || url !== told.url) throw new Error(`there is no queue ${String(url)}`);
    return Promise.resolve(isLookUp ? { QueueUrl: url } : { Messages: [] });
  };
  const session = {
    calls: { run: (_pace: string, _name: string, call: () => unknown) => call() },
    client: () => ({ send: answer }),
  };
  return Object.assign(told, { session: session as unknown as AwsSession });
}

describe('the address of a queue', () => {
  test('is looked up once, and again after it was not found', async () => {
    const given = sqs();
    const queue = awsInterruptionQueue(given.session, { queueName });
    await expect(queue.receive(neverStopping)).rejects.toThrow('no queue');
    given.url = 'https://sqs/1';
    for (const _turn of [1, 2]) expect(await queue.receive(neverStopping)).toEqual([]);
    expect(given.asked).toEqual([
      'look up nothing',
      'look up https://sqs/1',
      'receive https://sqs/1',
      'receive https://sqs/1',
    ]);
  });

  test('is looked up anew after a receive has failed: the queue may have been made again', async () => {
    const given = sqs();
    given.url = 'https://sqs/1';
    const queue = awsInterruptionQueue(given.session, { queueName });
    expect(await queue.receive(neverStopping)).toEqual([]);
    given.url = 'https://sqs/2';
    await expect(queue.receive(neverStopping)).rejects.toThrow('no queue');
    expect(await queue.receive(neverStopping)).toEqual([]);
    expect(given.asked.slice(-2)).toEqual(['look up https://sqs/2', 'receive https://sqs/2']);
  });
});
