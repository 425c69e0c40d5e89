import type { DescribeInstancesCommand } from '@aws-sdk/client-ec2';
import { expect, test } from 'vitest';

import type { AwsSession } from '../calls/session.js';
import { awsInstances } from './instances.js';

/** EC2 with this many instances, which answers pages of the size that it is asked for. */
function ec2Of(instances: number): { readonly session: AwsSession; readonly read: number[] } {
  const read: number[] = [];
  const answer = ({ input: { MaxResults = 1_000, NextToken = '0' } }: DescribeInstancesCommand) => {
    const from = Number(NextToken);
    const page = Array.from({ length: Math.min(MaxResults, instances - from) }, (_, index) => ({
      InstanceId: `i-${from + index}`,
      State: { Name: 'running' as const },
    }));
    read.push(page.length);
    const next = from + page.length;
    return Promise.resolve({
      Reservations: [{ Instances: page }],
      ...(next < instances ? { NextToken: String(next) } : {}),
    });
  };
  const session = {
    calls: { run: (_pace: string, _name: string, call: () => unknown) => call() },
    client: () => ({ send: answer }),
  };
  return { session: session as unknown as AwsSession, read };
}

test('one page, which is read in one turn of the event loop, has at most 100 instances', async () => {
  const { session, read } = ec2Of(250);
  await awsInstances(session).instancesByTag([]);
  expect(read).toEqual([100, 100, 50]);
});
