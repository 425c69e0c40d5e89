import { ec2Catalog } from './http/ec2-catalog.js';
import { ec2Fleet } from './http/ec2-fleet.js';
import { ec2Instances } from './http/ec2-instances.js';
import { ec2Network } from './http/ec2-network.js';
import { ec2Templates } from './http/ec2-templates.js';
import { iamOperations, stsOperations } from './http/iam-operations.js';
import type { JsonOperations, QueryOperations } from './http/operation.js';
import { pricingOperations } from './http/pricing-operations.js';
import { sqsOperations } from './http/sqs-operations.js';
import { ssmOperations } from './http/ssm-operations.js';

/** Everything that the twin answers over the AWS query protocols, by service and operation. */
export const servedQueries: { readonly ec2: QueryOperations; readonly iam: QueryOperations; readonly sts: QueryOperations } = {
  ec2: { ...ec2Catalog, ...ec2Network, ...ec2Templates, ...ec2Fleet, ...ec2Instances },
  iam: iamOperations,
  sts: stsOperations,
};

/** Everything that it answers over AWS JSON, by service and operation; the key of each service is its target's prefix. */
export const servedJson: Readonly<Record<string, { readonly service: string; readonly operations: JsonOperations }>> = {
  AmazonSSM: { service: 'ssm', operations: ssmOperations },
  AmazonSQS: { service: 'sqs', operations: sqsOperations },
  AWSPriceListService: { service: 'pricing', operations: pricingOperations },
};

/** The whole list, as `service:Operation`, sorted. EKS speaks REST and has one operation. */
export const servedActions: readonly string[] = [
  ...Object.entries(servedQueries).flatMap(([service, operations]) => Object.keys(operations).map((name) => `${service}:${name}`)),
  ...Object.values(servedJson).flatMap(({ service, operations }) => Object.keys(operations).map((name) => `${service}:${name}`)),
  'eks:DescribeCluster',
].sort();
