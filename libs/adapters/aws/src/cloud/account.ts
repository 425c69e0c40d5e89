import type { Account } from '@dovetail/core-ports';

import { callerAccount } from '../calls/caller-identity.js';
import type { AwsSession } from '../calls/session.js';

/** The account and region that a session's credentials belong to. */
export function awsAccount(session: AwsSession): Account {
  let identity: ReturnType<Account['identity']> | undefined;
  return {
    identity() {
      // Credentials rotate, but their account stays: one answer serves for the life of the process.
      // A failure is not kept.
      identity ??= askIdentity(session).catch((error: unknown) => {
        identity = undefined;
        throw error;
      });
      return identity;
    },
  };
}

/**
 * STS' GetCallerIdentity, the one call that every identity may make. Other calls name the owner of
 * a resource, which may be another account that shares it.
 */
async function askIdentity(session: AwsSession): ReturnType<Account['identity']> {
  const accountId = await session.calls.run('other', 'sts:GetCallerIdentity', () =>
    callerAccount(session.sts()),
  );
  return { accountId, region: session.connection.region };
}
