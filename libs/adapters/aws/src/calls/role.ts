import { AssumeRoleCommand } from '@aws-sdk/client-sts';

import type { AwsSession } from './session.js';

/** A role that AWS is called as. */
export type AssumedRole = {
  readonly arn: string;
  /** How long its credentials last. STS takes 900 to 43,200, and no more than the role allows. */
  readonly durationSeconds: number;
};

/** Credentials that end. */
export type RoleCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration: Date;
};

/** The SDK asks a provider anew this long before its credentials end. */
const renewBeforeMs = 300_000;

/**
 * A provider of a role's credentials, which all clients of a session share. It asks STS as the
 * session `base`. While STS does not answer, credentials that have not ended yet stay in use.
 */
export function roleCredentials(
  base: AwsSession,
  role: AssumedRole,
): () => Promise<RoleCredentials> {
  let held: RoleCredentials | undefined;
  let asking: Promise<RoleCredentials> | undefined;
  const leftMs = (): number => (held?.expiration.getTime() ?? 0) - base.clock.nowMs();
  return async () => {
    if (held !== undefined && leftMs() > renewBeforeMs) return held;
    asking ??= assume(base, role).finally(() => (asking = undefined));
    try {
      held = await asking;
    } catch (error) {
      if (held === undefined || leftMs() <= 0) throw error;
    }
    return held;
  };
}

async function assume(base: AwsSession, { arn, durationSeconds }: AssumedRole) {
  const { Credentials: given } = await base
    .sts()
    .send(
      new AssumeRoleCommand({
        RoleArn: arn,
        RoleSessionName: 'dovetail',
        DurationSeconds: durationSeconds,
      }),
    );
  if (given?.AccessKeyId === undefined || given.SecretAccessKey === undefined)
    throw Object.assign(new Error(`STS gave no credentials of ${arn}`), { name: 'InternalError' });
  const lifeMs = durationSeconds * 1_000;
  return {
    accessKeyId: given.AccessKeyId,
    secretAccessKey: given.SecretAccessKey,
    ...(given.SessionToken === undefined ? {} : { sessionToken: given.SessionToken }),
    expiration: given.Expiration ?? new Date(base.clock.nowMs() + lifeMs),
  };
}
