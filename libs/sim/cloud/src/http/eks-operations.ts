import { AwsFault } from '../foundation/aws-fault.js';
import type { CloudTwin } from '../twin/cloud-twin.js';

/** EKS DescribeCluster: what nodes need in order to join. */
export function describeCluster(twin: CloudTwin, name: string): unknown {
  const { account } = twin;
  const cluster = twin.cluster();
  if (name !== cluster.name)
    throw new AwsFault('ResourceNotFoundException', `No cluster found for name: ${name}.`, 404);
  return {
    cluster: {
      name,
      arn: `arn:aws:eks:${account.region}:${account.accountId}:cluster/${name}`,
      createdAt: 1_767_225_600,
      version: cluster.version,
      endpoint: cluster.endpoint,
      status: 'ACTIVE',
      roleArn: `arn:aws:iam::${account.accountId}:role/${name}-cluster-role`,
      certificateAuthority: { data: cluster.certificateAuthority },
      kubernetesNetworkConfig: { serviceIpv4Cidr: cluster.serviceCidr, ipFamily: 'ipv4' },
      platformVersion: 'eks.1',
      tags: {},
      resourcesVpcConfig: {
        subnetIds: account.subnets.map(({ id }) => id),
        securityGroupIds: [],
        clusterSecurityGroupId: account.securityGroups[0]?.id,
        vpcId: account.vpcId,
        endpointPublicAccess: true,
        endpointPrivateAccess: true,
        publicAccessCidrs: ['0.0.0.0/0'],
      },
    },
  };
}
