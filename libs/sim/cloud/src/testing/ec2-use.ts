import {
  type _InstanceType,
  type CreateFleetCommandInput,
  CreateLaunchTemplateCommand,
  type RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll } from 'vitest';

import { startWire, type Wire } from './wire.js';

/** The twin and its clients, with no limits on requests. It is set once tests run. */
export let wire: Wire;

/** The image of Amazon Linux 2023 for Kubernetes 1.32. */
export let imageId: string;

/** Opens the wire before the tests of a file and closes it after them. */
export function useEc2(): void {
  beforeAll(async () => {
    wire = await startWire({ settings: { limits: 'none' } });
    imageId =
      (
        await wire.ssm.send(
          new GetParameterCommand({
            Name: '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
          }),
        )
      ).Parameter?.Value ?? '';
  });

  afterAll(() => wire.close());
}

let named = 0;

/** The data of a launch template like the launcher's. */
export const templateData = (): RequestLaunchTemplateData => ({
  ImageId: imageId,
  UserData: Buffer.from('x & <y>').toString('base64'),
  IamInstanceProfile: { Name: 'KarpenterNodeInstanceProfile-lab' },
  Monitoring: { Enabled: true },
  NetworkInterfaces: [
    {
      DeviceIndex: 0,
      AssociatePublicIpAddress: false,
      Groups: wire.twin.account.securityGroups.map(({ id }) => id),
    },
  ],
  BlockDeviceMappings: [
    { DeviceName: '/dev/xvda', Ebs: { VolumeSize: 20, VolumeType: 'gp3', Encrypted: true } },
  ],
  MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
});

/** Creates a launch template like the launcher's, changed by `data`; its name. */
export async function template(data: Record<string, unknown> = {}): Promise<string> {
  const name = `karpenter.k8s.aws/${(named += 1)}`;
  await wire.ec2.send(
    new CreateLaunchTemplateCommand({
      LaunchTemplateName: name,
      TagSpecifications: [
        { ResourceType: 'launch-template', Tags: [{ Key: 'eks:eks-cluster-name', Value: 'lab' }] },
      ],
      LaunchTemplateData: { ...templateData(), ...data },
    }),
  );
  return name;
}

/** A request for a fleet of that launch template. */
export function fleet(
  name: string,
  change: Partial<CreateFleetCommandInput> & {
    types?: readonly string[];
    capacity?: number;
    spot?: boolean;
  } = {},
): CreateFleetCommandInput {
  const { types = ['m5.large'], capacity = 1, spot = false, ...rest } = change;
  return {
    Type: 'instant',
    LaunchTemplateConfigs: [
      {
        LaunchTemplateSpecification: { LaunchTemplateName: name, Version: '$Latest' },
        Overrides: types.flatMap((type) =>
          wire.twin.account.subnets.map(({ id, zone }) => ({
            InstanceType: type as _InstanceType,
            SubnetId: id,
            AvailabilityZone: zone,
          })),
        ),
      },
    ],
    TargetCapacitySpecification: {
      TotalTargetCapacity: capacity,
      DefaultTargetCapacityType: spot ? 'spot' : 'on-demand',
    },
    ...(spot
      ? { SpotOptions: { AllocationStrategy: 'price-capacity-optimized' } }
      : { OnDemandOptions: { AllocationStrategy: 'lowest-price' } }),
    TagSpecifications: (['instance', 'fleet', 'volume'] as const).map((ResourceType) => ({
      ResourceType,
      Tags: [{ Key: 'karpenter.sh/nodepool', Value: 'default' }],
    })),
    ...rest,
  };
}

/** Code and status of an error that the SDK threw. */
export const refusal = (error: unknown): unknown => {
  const { name, message, $metadata } = error as {
    name: string;
    message: string;
    $metadata: { httpStatusCode?: number };
  };
  return { name, message, status: $metadata.httpStatusCode };
};
