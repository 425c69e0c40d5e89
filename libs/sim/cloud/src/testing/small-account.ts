import type { FleetRequest, LaunchTemplateSpec } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';

import {
  accountFor,
  type AccountOptions,
  type CloudSettings,
  createCloud,
  inProcessCloud,
} from '../index.js';

/**
 * A twin under a virtual clock with its ports, in three zones of us-west-2. It has no rate limits
 * by default.
 */
export function smallAccount(
  settings: Partial<CloudSettings> = {},
  account: Partial<AccountOptions> = {},
) {
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const twin = createCloud({
    clock,
    seed: 'seed',
    account: accountFor('us-west-2', { clusterName: 'lab', zones: ['a', 'b', 'd'], ...account }),
    settings: { limits: 'none', ...settings },
  });
  return { clock, twin, cloud: inProcessCloud(twin) };
}
export type SmallAccount = ReturnType<typeof smallAccount>;

/** A launch template that boots AL2 and joins. */
export async function joiningTemplate(
  { twin, cloud }: SmallAccount,
  change: Partial<LaunchTemplateSpec> = {},
): Promise<void> {
  const imageId =
    (await cloud.parameter(
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id',
    )) ?? '';
  const script = `#!/bin/bash -xe\n/etc/eks/bootstrap.sh 'lab' --apiserver-endpoint '${twin.cluster().endpoint}' --b64-cluster-ca '${twin.cluster().certificateAuthority}'\n`;
  await cloud.ensureLaunchTemplate({
    name: 'dovetail/one',
    imageId,
    userDataBase64: Buffer.from(script).toString('base64'),
    securityGroupIds: twin.account.securityGroups.map(({ id }) => id),
    instanceProfileName: 'KarpenterNodeInstanceProfile-lab',
    blockDevices: [],
    metadataOptions: {},
    detailedMonitoring: false,
    tags: {},
    ...change,
  });
}

/** A request for these types in every zone. */
export function fleetRequest(
  { twin }: SmallAccount,
  types: readonly string[],
  change: Partial<FleetRequest> = {},
): FleetRequest {
  const overrides = types.flatMap((instanceType) =>
    twin.account.subnets.map(({ id, zone }) => ({ instanceType, subnetId: id, zone })),
  );
  return {
    clientToken: 'token',
    capacityType: 'on-demand',
    count: 1,
    allocation: 'lowest-price',
    tags: {},
    configs: [{ launchTemplateName: 'dovetail/one', overrides }],
    ...change,
  };
}
