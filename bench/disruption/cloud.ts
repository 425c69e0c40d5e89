import type { Instance } from '@dovetail/core-ports';

import type { ReaperDeps } from './deps.js';

/** EC2 in which all of these instances run, with a name for the cluster and its UID. */
export const standingCloud = (
  ids: readonly string[],
  tags: Readonly<Record<string, string>>,
): ReaperDeps['cloud'] => {
  const instances = new Map<string, Instance>(
    ids.map((id) => [
      id,
      {
        id,
        instanceType: 'm6i.2xlarge',
        zone: 'us-west-2a',
        state: 'running',
        capacityType: 'spot',
        imageId: 'ami-0123456789abcdef0',
        launchedMs: Date.parse('2026-01-02T03:04:05Z'),
        securityGroupIds: [],
        tags,
      },
    ]),
  );
  return {
    instancesByTag: () => Promise.resolve([...instances.values()]),
    instancesById: (asked) => Promise.resolve(asked.flatMap((id) => instances.get(id) ?? [])),
    impairedInstances: () => Promise.resolve([]),
    identity: () => Promise.resolve({ accountId: '123456789012', region: 'us-west-2' }),
    terminate: () => Promise.resolve([]),
  };
};
