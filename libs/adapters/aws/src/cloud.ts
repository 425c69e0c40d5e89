import type { Clock, Cloud, Log } from '@dovetail/core-ports';
import { AwsCalls, type CallKind, type CallLimits, type CallObserver } from './calls.js';
import { createClients, type AwsConnection } from './clients.js';
import { callerAccount } from './cloud/identity.js';
import { discoveryOf } from './cloud/discovery.js';
import { runningOf } from './cloud/instances.js';
import { launchingOf } from './cloud/launching.js';
import { pricesOf } from './cloud/prices.js';
import { profilesOf } from './cloud/profiles.js';
import { typesOf } from './cloud/types.js';
import type { Pace } from './pacer.js';

export type AwsCloudOptions = AwsConnection & {
  readonly clock: Clock;
  readonly log?: Log;
  /** Told of every try of every call, for metrics. */
  readonly observe?: CallObserver;
  /** How fast each kind of call may go; the default is EC2's documented buckets. */
  readonly paces?: Readonly<Record<CallKind, Pace>>;
  readonly limits?: CallLimits;
};

/** EC2, SSM, Pricing, IAM, EKS and STS of one account and region through AWS' SDK. `close` ends its connections. */
export function createAwsCloud(options: AwsCloudOptions): Cloud & { close(): void } {
  const { clock, region } = options;
  const clients = createClients(options);
  const calls = new AwsCalls(options);
  let identity: Promise<{ readonly accountId: string; readonly region: string }> | undefined;
  const askIdentity = async (): Promise<{ readonly accountId: string; readonly region: string }> =>
    ({ accountId: await calls.run('other', 'sts:GetCallerIdentity', () => callerAccount(options, clients.ec2, clock.nowMs())), region });
  return {
    ...typesOf(clients, calls),
    ...pricesOf({ clients, calls, clock, region }),
    ...discoveryOf(clients, calls, clock),
    ...launchingOf(clients, calls),
    ...runningOf(clients, calls),
    ...profilesOf(clients, calls),
    identity() {
      // Credentials change their keys, not their account: one answer serves for the life of the process, a failure is forgotten.
      identity ??= askIdentity().catch((error: unknown) => { identity = undefined; throw error; });
      return identity;
    },
    close: () => clients.destroy(),
  };
}
