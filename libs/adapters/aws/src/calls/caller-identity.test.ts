import { afterEach, expect, test } from 'vitest';

import { systemClock } from '../testing/account.js';
import { callerAccount } from './caller-identity.js';
import { AwsSession } from './session.js';

const saved = { ...process.env };
afterEach(() => {
  process.env = { ...saved };
});

type Sent = { readonly host: string; readonly body: string; readonly authorization: string };

/** The request for the caller's identity as it would leave; nothing is sent. */
async function sentFrom(region: string): Promise<Sent> {
  const credentials = { accessKeyId: 'AKIA', secretAccessKey: 's', sessionToken: 't' };
  const session = new AwsSession({ region, credentials, clock: systemClock });
  const sts = session.sts();
  let sent: Sent | undefined;
  sts.middlewareStack.add(
    () => (args) => {
      const { hostname, body, headers } = args.request as {
        readonly hostname: string;
        readonly body: string;
        readonly headers: Readonly<Record<string, string>>;
      };
      sent = { host: hostname, body, authorization: headers['authorization'] ?? '' };
      return Promise.reject(new Error('not sent'));
    },
    { step: 'finalizeRequest', priority: 'low' },
  );
  await expect(callerAccount(sts)).rejects.toThrow('not sent');
  session.close();
  if (sent === undefined) throw new Error('nothing was asked');
  return sent;
}

test.each([
  ['us-east-1', {}, 'sts.us-east-1.amazonaws.com'],
  ['eu-west-1', {}, 'sts.eu-west-1.amazonaws.com'],
  ['us-gov-west-1', {}, 'sts.us-gov-west-1.amazonaws.com'],
  ['cn-north-1', {}, 'sts.cn-north-1.amazonaws.com.cn'],
  ['us-iso-east-1', {}, 'sts.us-iso-east-1.c2s.ic.gov'],
  ['us-isob-east-1', {}, 'sts.us-isob-east-1.sc2s.sgov.gov'],
  ['eusc-de-east-1', {}, 'sts.eusc-de-east-1.amazonaws.eu'],
  ['us-east-1', { AWS_USE_FIPS_ENDPOINT: 'true' }, 'sts-fips.us-east-1.amazonaws.com'],
  ['us-east-1', { AWS_USE_DUALSTACK_ENDPOINT: 'true' }, 'sts.us-east-1.api.aws'],
  ['us-east-1', { AWS_ENDPOINT_URL_STS: 'https://sts.internal' }, 'sts.internal'],
])('in %s with %j STS is asked at %s', async (region, env, host) => {
  Object.assign(process.env, env);
  expect((await sentFrom(region)).host).toBe(host);
});

test('the call is signed for STS in its region, with the session token', async () => {
  const { body, authorization } = await sentFrom('us-west-2');
  expect(body).toMatch(/^Action=GetCallerIdentity&Version=2011-06-15$/);
  expect(authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIA\/\d{8}\/us-west-2\/sts\/aws4_request, SignedHeaders=\S*x-amz-security-token\S*, Signature=[0-9a-f]{64}$/,
  );
});
