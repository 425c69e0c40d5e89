import { GetCallerIdentityCommand, type STSClient } from '@aws-sdk/client-sts';

/** The account that the client's credentials belong to. Rejects with the SDK's error. */
export async function callerAccount(sts: STSClient): Promise<string> {
  const { Account: account } = await sts.send(new GetCallerIdentityCommand({}));
  if (account !== undefined) return account;
  throw Object.assign(new Error('STS named no account'), { name: 'InternalError' });
}
