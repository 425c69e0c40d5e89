import { ec2Catalog } from './ec2-catalog.js';
import { ec2Fleet } from './ec2-fleet.js';
import { ec2Instances } from './ec2-instances.js';
import { ec2Network } from './ec2-network.js';
import { ec2Spot } from './ec2-spot.js';
import { ec2Templates } from './ec2-templates.js';
import { ec2Volumes } from './ec2-volumes.js';
import { iamOperations, stsOperations } from './iam-operations.js';
import type { JsonOperations, QueryOperations } from './operation.js';
import { pricingOperations } from './pricing-operations.js';
import { sqsOperations } from './sqs-operations.js';
import { ssmOperations } from './ssm-operations.js';

/** Everything that the twin serves over the AWS query protocols, by service and operation. */
export const servedQueries: {
  readonly ec2: QueryOperations;
  readonly iam: QueryOperations;
  readonly sts: QueryOperations;
} = {
  ec2: {
    ...ec2Catalog,
    ...ec2Spot,
    ...ec2Network,
    ...ec2Templates,
    ...ec2Fleet,
    ...ec2Instances,
    ...ec2Volumes,
  },
  iam: iamOperations,
  sts: stsOperations,
};

/**
 * Everything that it serves over AWS JSON, by service and operation. The key of a service is the
 * prefix of its target.
 */
export const servedJson: Readonly<
  Record<string, { readonly service: string; readonly operations: JsonOperations }>
> = {
  AmazonSSM: { service: 'ssm', operations: ssmOperations },
  AmazonSQS: { service: 'sqs', operations: sqsOperations },
  AWSPriceListService: { service: 'pricing', operations: pricingOperations },
};

/** All served actions as `service:Operation`, sorted. EKS speaks REST and has one operation. */
export const servedActions: readonly string[] = [
  ...Object.entries(servedQueries).flatMap(([service, operations]) =>
    Object.keys(operations).map((name) => `${service}:${name}`),
  ),
  ...Object.values(servedJson).flatMap(({ service, operations }) =>
    Object.keys(operations).map((name) => `${service}:${name}`),
  ),
  'eks:DescribeCluster',
].sort();
