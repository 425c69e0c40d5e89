import { expect, test } from '@jest/globals';

import { signedHeaders } from './account.js';

test('the signature of GetCallerIdentity covers host, date and session token, and depends on the secret', () => {
  const sign = (secretAccessKey: string, sessionToken?: string) =>
    signedHeaders({
      url: new URL('https://sts.us-east-1.amazonaws.com'),
      region: 'us-east-1',
      credentials: {
        accessKeyId: 'AKIA',
        secretAccessKey,
        ...(sessionToken === undefined ? {} : { sessionToken }),
      },
      nowMs: Date.UTC(2026, 0, 2, 3, 4, 5),
    })['authorization'];
  expect(sign('s')).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIA\/20260102\/us-east-1\/sts\/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=[0-9a-f]{64}$/,
  );
  expect(sign('s', 't')).toContain(
    'SignedHeaders=content-type;host;x-amz-date;x-amz-security-token',
  );
  expect(sign('s')).not.toBe(sign('other'));
});
