import { lookUp } from '@dovetail/core-invariant';

import type { Account } from '../foundation/account.js';
import { parsePolicy, type Policy } from '../policy/policy.js';

/**
 * A policy with placeholders such as `${CLUSTER_NAME}`, filled in for the account. Throws
 * PolicyError for a placeholder that an account does not have.
 */
export function accountPolicy(text: string, account: Account): Policy {
  const values: Readonly<Record<string, string | undefined>> = {
    AWS_PARTITION: 'aws',
    AWS_REGION: account.region,
    AWS_ACCOUNT_ID: account.accountId,
    CLUSTER_NAME: account.cluster.name,
    NODE_ROLE: account.roles[0]?.name,
    INTERRUPTION_QUEUE: account.queueName,
  };
  return parsePolicy(
    text.replaceAll(
      /\$\{(\w+)\}/g,
      (placeholder, name: string) => lookUp(values, name) ?? placeholder,
    ),
  );
}
