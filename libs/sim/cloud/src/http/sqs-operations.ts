import { AwsFault } from '../foundation/aws-fault.js';
import type { QueuedMessage } from '../parts/queue.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import {
  integerIn,
  objectsIn,
  refuseOthers,
  requiredText,
  textIn,
  textsIn,
} from './json-fields.js';
import type { JsonObject, JsonOperations } from './operation.js';

const noQueue = (): AwsFault =>
  new AwsFault('QueueDoesNotExist', 'The specified queue does not exist.');

/** Only the last two segments count: the twin may be reached under several addresses. */
function checkQueueUrl(twin: CloudTwin, input: JsonObject): void {
  const url = requiredText(input, 'QueueUrl');
  if (!url.endsWith(`/${twin.account.accountId}/${twin.queue.name}`)) throw noQueue();
}

function between(
  input: JsonObject,
  name: string,
  range: { readonly min: number; readonly max: number; readonly otherwise: number },
): number {
  const value = integerIn(input, name) ?? range.otherwise;
  if (value < range.min || value > range.max)
    throw new AwsFault(
      'InvalidParameterValue',
      `Value ${value} for parameter ${name} is invalid. Reason: Must be between ${range.min} and ${range.max}, if provided.`,
    );
  return value;
}

function messageJson(message: QueuedMessage, wanted: readonly string[]): unknown {
  const all: Readonly<Record<string, string>> = {
    SentTimestamp: String(message.sentMs),
    ApproximateReceiveCount: String(message.receives),
    ApproximateFirstReceiveTimestamp: String(message.firstReceivedMs),
    SenderId: 'AIDAEVENTBRIDGE',
  };
  const attributes = Object.fromEntries(
    Object.entries(all).filter(([name]) => wanted.includes('All') || wanted.includes(name)),
  );
  return {
    MessageId: message.id,
    ReceiptHandle: message.receipt,
    MD5OfBody: message.md5,
    Body: message.body,
    ...(Object.keys(attributes).length === 0 ? {} : { Attributes: attributes }),
  };
}

async function receive(twin: CloudTwin, input: JsonObject, stop: AbortSignal): Promise<unknown> {
  refuseOthers(input, [
    'QueueUrl',
    'MaxNumberOfMessages',
    'VisibilityTimeout',
    'WaitTimeSeconds',
    'AttributeNames',
    'MessageSystemAttributeNames',
    'MessageAttributeNames',
  ]);
  checkQueueUrl(twin, input);
  const max = between(input, 'MaxNumberOfMessages', { min: 1, max: 10, otherwise: 1 });
  const visibilityMs =
    between(input, 'VisibilityTimeout', { min: 0, max: 43_200, otherwise: 30 }) * 1000;
  const waitMs = between(input, 'WaitTimeSeconds', { min: 0, max: 20, otherwise: 0 }) * 1000;
  const messages = await twin.queue.receive({ max, visibilityMs, waitMs }, stop);
  const wanted = [
    ...textsIn(input, 'AttributeNames'),
    ...textsIn(input, 'MessageSystemAttributeNames'),
  ];
  return messages.length === 0
    ? {}
    : { Messages: messages.map((message) => messageJson(message, wanted)) };
}

function attributes(twin: CloudTwin, input: JsonObject): unknown {
  refuseOthers(input, ['QueueUrl', 'AttributeNames']);
  checkQueueUrl(twin, input);
  const { visible, hidden, delayed } = twin.queue.depth();
  const all: Readonly<Record<string, string>> = {
    QueueArn: `arn:aws:sqs:${twin.account.region}:${twin.account.accountId}:${twin.queue.name}`,
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(hidden),
    ApproximateNumberOfMessagesDelayed: String(delayed),
    MessageRetentionPeriod: String(twin.settings.queueRetentionMs / 1000),
    VisibilityTimeout: '30',
    ReceiveMessageWaitTimeSeconds: '0',
    DelaySeconds: '0',
  };
  const wanted = textsIn(input, 'AttributeNames');
  return {
    Attributes: Object.fromEntries(
      Object.entries(all).filter(([name]) => wanted.includes('All') || wanted.includes(name)),
    ),
  };
}

function deleteOne(twin: CloudTwin, input: JsonObject): void {
  const receipt = requiredText(input, 'ReceiptHandle');
  if (!receipt.startsWith('AQEB'))
    throw new AwsFault(
      'ReceiptHandleIsInvalid',
      `The input receipt handle "${receipt}" is not a valid receipt handle.`,
    );
  twin.queue.delete(receipt);
}

/** Up to ten messages; each entry succeeds or fails alone. */
function deleteBatch(twin: CloudTwin, input: JsonObject): unknown {
  refuseOthers(input, ['QueueUrl', 'Entries']);
  checkQueueUrl(twin, input);
  const entries = objectsIn(input, 'Entries');
  if (entries.length === 0)
    throw new AwsFault('EmptyBatchRequest', 'There should be at least one entry in the request.');
  if (entries.length > 10)
    throw new AwsFault(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are 10. You have sent ${entries.length}.`,
    );
  const ids = entries.map((entry) => requiredText(entry, 'Id'));
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new AwsFault('BatchEntryIdsNotDistinct', `Id ${twice} repeated.`);
  const [Successful, Failed]: [unknown[], unknown[]] = [[], []];
  for (const [index, entry] of entries.entries()) {
    const Id = ids[index];
    try {
      deleteOne(twin, entry);
      Successful.push({ Id });
    } catch (error) {
      if (!(error instanceof AwsFault)) throw error;
      Failed.push({ Id, SenderFault: true, Code: error.code, Message: error.message });
    }
  }
  return { Successful, Failed };
}

/** The interruption queue. */
export const sqsOperations: JsonOperations = {
  GetQueueUrl: (twin, input, { origin }) => {
    refuseOthers(input, ['QueueName', 'QueueOwnerAWSAccountId']);
    const owner = textIn(input, 'QueueOwnerAWSAccountId') ?? twin.account.accountId;
    if (requiredText(input, 'QueueName') !== twin.queue.name || owner !== twin.account.accountId)
      throw noQueue();
    return { QueueUrl: `${origin}/${twin.account.accountId}/${twin.queue.name}` };
  },
  SendMessage: (twin, input) => {
    refuseOthers(input, ['QueueUrl', 'MessageBody', 'DelaySeconds']);
    checkQueueUrl(twin, input);
    const { id, md5 } = twin.queue.send(
      requiredText(input, 'MessageBody'),
      between(input, 'DelaySeconds', { min: 0, max: 900, otherwise: 0 }) * 1000,
    );
    return { MessageId: id, MD5OfMessageBody: md5 };
  },
  ReceiveMessage: (twin, input, { stop }) => receive(twin, input, stop),
  DeleteMessage: (twin, input) => {
    refuseOthers(input, ['QueueUrl', 'ReceiptHandle']);
    checkQueueUrl(twin, input);
    deleteOne(twin, input);
    return {};
  },
  DeleteMessageBatch: deleteBatch,
  GetQueueAttributes: attributes,
};
