import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';

import {
  awsRegion,
  instanceProfileName,
  listenHost,
  namespaceName,
  natsServers,
  queueName,
  readableFile,
  replicaName,
} from './name-settings.js';

const rows = [
  [awsRegion, 'us-west-2', 'us-gov-east-1', 'us-iso-east-1', 'eusc-de-east-1', 'mx-central-1'],
  [instanceProfileName, 'nodes', 'a+=,.@_-b', 'x'.repeat(128)],
  [queueName, 'lab', 'My_Queue-1', 'q'.repeat(80)],
  [namespaceName, 'kube-system', 'a', '0', 'n'.repeat(63)],
  [replicaName, 'launcher-7d9f-x2', 'host.example', 'r'.repeat(253)],
  [listenHost, '::', '::1', '0.0.0.0', 'localhost', 'host.example'],
  [
    natsServers,
    'nats://nats:4222',
    'tls://nats.example:4222',
    'nats://10.0.0.1:4222',
    'nats://[::1]:4222',
    'nats:4222',
    'localhost',
    'nats://a:1,nats://b:2',
  ],
] as const;

const accepted = rows.flatMap(([read, ...values]) => values.map((value) => [value, read] as const));

test.each(accepted)('%j is accepted', (given, read) => expect(read(given)).toBe(given));

test.each([
  ['', awsRegion],
  ['us-west-2a', awsRegion],
  ['US-WEST-2', awsRegion],
  ['oregon', awsRegion],
  ['arn:aws:iam::111122223333:instance-profile/nodes', instanceProfileName],
  ['path/nodes', instanceProfileName],
  ['x'.repeat(129), instanceProfileName],
  ['https://sqs.us-west-2.amazonaws.com/111122223333/lab', queueName],
  ['arn:aws:sqs:us-west-2:111122223333:lab', queueName],
  ['q'.repeat(81), queueName],
  ['Kube-System', namespaceName],
  ['a.b', namespaceName],
  ['-a', namespaceName],
  ['a-', namespaceName],
  ['n'.repeat(64), namespaceName],
  ['-r', replicaName],
  ['a/b', replicaName],
  ['r'.repeat(254), replicaName],
  ['[::1]', listenHost],
  ['0.0.0.0:8080', listenHost],
  ['http://localhost', listenHost],
  ['256', listenHost],
  ['', natsServers],
  ['nats://', natsServers],
  ['http://nats:4222', natsServers],
  ['ws://nats:4222', natsServers],
  ['nats://user:secret@nats:4222', natsServers],
  ['nats://nats:4222/', natsServers],
  ['nats://nats:99999', natsServers],
  ['nats://a, nats://b', natsServers],
  ['nats://a,', natsServers],
  ['1', natsServers],
  ['0x7f000001', natsServers],
] as const)('%j is refused with the remedy', (given, read) =>
  expect(() => read(given)).toThrow(/^give /),
);

describe('the path of a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dovetail-settings-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  test('is accepted if the file is there', () => {
    writeFileSync(join(folder, 'creds'), '');
    expect(readableFile(join(folder, 'creds'))).toBe(join(folder, 'creds'));
  });
  test.each(['none', '.'])('is refused for %j in an empty folder', (name) =>
    expect(() => readableFile(join(folder, name))).toThrow(/^give the path of a file/),
  );
});
