import type { NodeClass, NodeClassStatus } from '@dovetail/core-api';
import { amiStatusOf } from '@dovetail/core-ec2-model';
import { type KubeResource, kubeResources } from '@dovetail/core-ports';
import type { ChangedObject } from '@dovetail/service-kit';

const resourceOf = (row: NodeClass): KubeResource =>
  row.ref.kind === 'EC2NodeClass'
    ? kubeResources.ec2NodeClasses
    : row.ref.kind === 'AWSNodeTemplate'
      ? kubeResources.awsNodeTemplates
      : kubeResources.provisioners;

/** The object of the API that a class was read from. */
export const objectOf = (row: NodeClass): ChangedObject => ({
  resource: resourceOf(row),
  name: row.ref.name,
  uid: row.uid,
});

/** The findings, in the fields that Karpenter's EC2NodeClass status has for them. */
export const foundFields = (status: NodeClassStatus): Readonly<Record<string, unknown>> => ({
  subnets: status.subnets.map(({ id, zone, zoneId }) => ({
    id,
    zone,
    ...(zoneId === undefined ? {} : { zoneID: zoneId }),
  })),
  securityGroups: status.securityGroups.map(({ id, name }) => ({
    id,
    ...(name === undefined ? {} : { name }),
  })),
  // The image of a launch template of the user's own is not known.
  amis: amiStatusOf(status.amis.filter(({ id }) => id !== '')),
  ...(status.instanceProfile === undefined ? {} : { instanceProfile: status.instanceProfile }),
});
