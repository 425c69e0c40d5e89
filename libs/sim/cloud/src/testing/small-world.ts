import type { FleetRequest, LaunchTemplateSpec } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { createCloud, inProcessCloud, worldFor, type CloudSettings, type WorldOptions } from '../index.js';

/** A twin under a virtual clock with its ports, in three zones of us-west-2, without rate limits unless asked for. */
export function smallWorld(settings: Partial<CloudSettings> = {}, world: Partial<WorldOptions> = {}) {
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const twin = createCloud({ clock, seed: 'seed', world: worldFor('us-west-2', { clusterName: 'lab', zones: ['a', 'b', 'd'], ...world }), settings: { limits: 'none', ...settings } });
  return { clock, twin, cloud: inProcessCloud(twin) };
}
export type SmallWorld = ReturnType<typeof smallWorld>;

/** A launch template that boots AL2 and joins. */
export async function joiningTemplate({ twin, cloud }: SmallWorld, change: Partial<LaunchTemplateSpec> = {}): Promise<void> {
  const imageId = await cloud.parameter('/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id') ?? '';
  const script = `#!/bin/bash -xe\n/etc/eks/bootstrap.sh 'lab' --apiserver-endpoint '${twin.cluster().endpoint}' --b64-cluster-ca '${twin.cluster().certificateAuthority}'\n`;
  await cloud.ensureLaunchTemplate({
    name: 'dovetail/one', imageId, userDataBase64: Buffer.from(script).toString('base64'), securityGroupIds: twin.world.securityGroups.map(({ id }) => id),
    instanceProfileName: 'KarpenterNodeInstanceProfile-lab', blockDevices: [], metadataOptions: {}, detailedMonitoring: false, tags: {}, ...change,
  });
}

/** A request for these types in every zone. */
export function fleetRequest({ twin }: SmallWorld, types: readonly string[], change: Partial<FleetRequest> = {}): FleetRequest {
  const overrides = types.flatMap((instanceType) => twin.world.subnets.map(({ id, zone }) => ({ instanceType, subnetId: id, zone })));
  return { clientToken: 'token', capacityType: 'on-demand', count: 1, allocation: 'lowest-price', tags: {}, configs: [{ launchTemplateName: 'dovetail/one', overrides }], ...change };
}
