import { createHash, createHmac } from 'node:crypto';

import { EC2Client } from '@aws-sdk/client-ec2';
import { compareText } from '@dovetail/core-kube-model';
import type { Account } from '@dovetail/core-ports';
import { XMLParser } from 'fast-xml-parser';

import type { AwsConnection, AwsSession } from '../calls/session.js';

type SignedRequest = {
  readonly url: URL;
  readonly region: string;
  /** Credentials as the SDK's provider returns them. */
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  readonly nowMs: number;
};

const body = 'Action=GetCallerIdentity&Version=2011-06-15';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

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

async function askIdentity(session: AwsSession): ReturnType<Account['identity']> {
  const accountId = await session.calls.run('other', 'sts:GetCallerIdentity', () =>
    callerAccount(session),
  );
  return { accountId, region: session.connection.region };
}

/**
 * STS' GetCallerIdentity, the one call that every identity may make. Other calls name the owner of
 * a resource, which may be another account that shares it. A whole client for this one call would
 * be a package more, so it is signed here.
 */
async function callerAccount(session: AwsSession): Promise<string> {
  const { connection } = session;
  const answer = await signedCall(session, stsUrl(connection));
  const text = await answer.text();
  if (!answer.ok)
    throw Object.assign(new Error(firstIn(text, 'Message') ?? `STS answered ${answer.status}`), {
      name: firstIn(text, 'Code') ?? 'Unknown',
      $metadata: { httpStatusCode: answer.status },
    });
  const account = firstIn(text, 'Account');
  if (account === undefined)
    throw Object.assign(new Error('STS named no account'), { name: 'InternalError' });
  return account;
}

const stsUrl = ({ endpoint, region }: AwsConnection): URL =>
  new URL(
    endpoint ?? `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`,
  );

async function signedCall(session: AwsSession, url: URL): Promise<Response> {
  const { connection, clock } = session;
  const credentials = await session.client(EC2Client).config.credentials();
  return fetch(url, {
    method: 'POST',
    body,
    headers: signedHeaders({ url, region: connection.region, credentials, nowMs: clock.nowMs() }),
    signal: AbortSignal.timeout(connection.callTimeoutMs ?? 60_000),
  });
}

/**
 * The headers of this one request under AWS Signature Version 4.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function signedHeaders(request: SignedRequest): Record<string, string> {
  const { url, region, credentials, nowMs } = request;
  const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = stamp.slice(0, 8);
  const headers: Readonly<Record<string, string>> = {
    'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
    host: url.host,
    'x-amz-date': stamp,
    ...(credentials.sessionToken === undefined
      ? {}
      : { 'x-amz-security-token': credentials.sessionToken }),
  };
  const signedNames = Object.keys(headers).sort().join(';');
  const scope = `${day}/${region}/sts/aws4_request`;
  const signature = hmac(
    signingKey(credentials.secretAccessKey, day, region),
    ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonicalRequest(headers, signedNames))].join('\n'),
  ).toString('hex');
  const { host: _host, ...sent } = headers;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`,
  };
}

const signingKey = (secret: string, day: string, region: string): string | Buffer =>
  [day, region, 'sts', 'aws4_request'].reduce<string | Buffer>(
    (key, piece) => hmac(key, piece),
    `AWS4${secret}`,
  );

const canonicalRequest = (headers: Readonly<Record<string, string>>, signedNames: string): string =>
  [
    'POST',
    '/',
    '',
    ...Object.entries(headers)
      .sort(([a], [b]) => compareText(a, b))
      .map(([name, value]) => `${name}:${value}`),
    '',
    signedNames,
    sha256(body),
  ].join('\n');

const parser = new XMLParser({ parseTagValue: false });

/**
 * The text of the first element with this name, at any depth: answers and errors nest it
 * differently.
 */
function firstIn(xml: string, name: string): string | undefined {
  const search = (value: unknown): string | undefined => {
    if (typeof value !== 'object' || value === null) return undefined;
    for (const [key, inner] of Object.entries(value)) {
      const found = key === name && typeof inner === 'string' ? inner : search(inner);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return search(parser.parse(xml));
}
