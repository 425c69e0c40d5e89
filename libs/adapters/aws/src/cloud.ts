import type { Cloud } from '@dovetail/core-ports';

import { AwsSession, type AwsSessionOptions } from './calls/session.js';
import { awsAccount } from './cloud/account.js';
import { awsDiscovery } from './cloud/discovery.js';
import { awsFleets } from './cloud/fleets.js';
import { awsInstanceProfiles } from './cloud/instance-profiles.js';
import { awsInstanceStatuses } from './cloud/instance-statuses.js';
import { awsInstanceTypes } from './cloud/instance-types.js';
import { awsInstances } from './cloud/instances.js';
import { awsPrices } from './cloud/prices.js';

/**
 * Every port of one account and region, over one session. The launcher needs them all. `close` ends
 * the connections.
 */
export function createAwsCloud(options: AwsSessionOptions): Cloud & { close(): void } {
  const session = new AwsSession(options);
  return {
    ...awsInstanceTypes(session),
    ...awsPrices(session),
    ...awsDiscovery(session),
    ...awsFleets(session),
    ...awsInstances(session),
    ...awsInstanceStatuses(session),
    ...awsInstanceProfiles(session),
    ...awsAccount(session),
    close: () => session.close(),
  };
}
