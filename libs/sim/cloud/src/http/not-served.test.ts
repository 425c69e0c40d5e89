import { CreateLaunchTemplateCommand, DescribeRegionsCommand } from '@aws-sdk/client-ec2';
import { GetProductsCommand } from '@aws-sdk/client-pricing';
import { ListQueuesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;
let heard: string[] = [];
beforeAll(async () => {
  wire = await startWire({
    serve: { onNotServed: ({ action, reason }) => void heard.push(`${action}: ${reason}`) },
  });
});
afterAll(() => wire.close());
beforeEach(() => {
  heard = [];
});

const host = { ImageId: 'ami-1', Placement: { Tenancy: 'host' as const } };
const target = { CapacityReservationTarget: { CapacityReservationId: 'cr-1' } };
const products = { Type: 'CONTAINS' as const, Field: 'tenancy', Value: 'Shared' };
const template = (LaunchTemplateData: typeof host | { CapacityReservationSpecification: object }) =>
  wire.ec2.send(new CreateLaunchTemplateCommand({ LaunchTemplateName: 'one', LaunchTemplateData }));

test.each<[string, () => Promise<unknown>, string]>([
  ['an operation of EC2', () => wire.ec2.send(new DescribeRegionsCommand()), 'DescribeRegions'],
  ['an operation of SQS', () => wire.sqs.send(new ListQueuesCommand()), 'AmazonSQS.ListQueues'],
  ['a value of a parameter', () => template(host), 'Placement.Tenancy host'],
  [
    'a capacity reservation',
    () => template({ CapacityReservationSpecification: target }),
    'CapacityReservationTarget.CapacityReservationId cr-1',
  ],
  [
    'a kind of filter',
    () =>
      wire.pricing.send(
        new GetProductsCommand({ ServiceCode: 'AmazonEC2', Filters: [products as never] }),
      ),
    'Filter type CONTAINS',
  ],
  ['a path', () => fetch(`${wire.endpoint}/nodegroups`), 'GET /nodegroups'],
])('%s that the twin does not serve is told of', async (_, call, expected) => {
  await call().catch(() => undefined);
  expect(heard).toEqual([expect.stringContaining(expected)]);
});

test("AWS' own refusals are not told of", async () => {
  await template({ ...host, Placement: { Tenancy: 'dedicated' as never } });
  await expect(
    wire.ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: 'one',
        LaunchTemplateData: { ImageId: 'ami-1' },
      }),
    ),
  ).rejects.toMatchObject({ name: 'InvalidLaunchTemplateName.AlreadyExistsException' });
  expect(heard).toEqual([]);
});
