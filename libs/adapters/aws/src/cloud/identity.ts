import type { EC2Client } from '@aws-sdk/client-ec2';
import { XMLParser } from 'fast-xml-parser';
import { createHash, createHmac } from 'node:crypto';
import type { AwsConnection } from '../clients.js';

/** Credentials as the SDK's provider gives them. */
type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string };

const body = 'Action=GetCallerIdentity&Version=2011-06-15';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/**
 * The account of the credentials: STS' GetCallerIdentity, the one call that every identity may make and that cannot name
 * a shared resource's owner by mistake. It is this call alone, so it is signed here rather than by a whole client more.
 */
export async function callerAccount(connection: AwsConnection, ec2: EC2Client, nowMs: number): Promise<string> {
  const url = new URL(connection.endpoint ?? `https://sts.${connection.region}.amazonaws.com${connection.region.startsWith('cn-') ? '.cn' : ''}`);
  const credentials = await ec2.config.credentials();
  const answer = await fetch(url, { method: 'POST', body, headers: signedHeaders(url, connection.region, credentials, nowMs), signal: AbortSignal.timeout(connection.callTimeoutMs ?? 60_000) });
  const text = await answer.text();
  if (!answer.ok) throw Object.assign(new Error(firstIn(text, 'Message') ?? `STS answered ${answer.status}`), { name: firstIn(text, 'Code') ?? 'Unknown', $metadata: { httpStatusCode: answer.status } });
  const account = firstIn(text, 'Account');
  if (account === undefined) throw Object.assign(new Error('STS named no account'), { name: 'InternalError' });
  return account;
}

/** AWS Signature Version 4 of this one request, as AWS documents it. */
export function signedHeaders(url: URL, region: string, credentials: Credentials, nowMs: number): Record<string, string> {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = stamp.slice(0, 8);
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded; charset=utf-8', host: url.host, 'x-amz-date': stamp,
    ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const canonical = ['POST', '/', '', ...names.map((name) => `${name}:${headers[name] ?? ''}`), '', names.join(';'), sha256(body)].join('\n');
  const scope = `${day}/${region}/sts/aws4_request`;
  const key = [day, region, 'sts', 'aws4_request'].reduce<string | Buffer>((secret, piece) => hmac(secret, piece), `AWS4${credentials.secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n')).toString('hex');
  const { host: _host, ...sent } = headers;
  return { ...sent, authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}` };
}

const parser = new XMLParser({ parseTagValue: false });

/** The first element of that name, however deep; answers and errors nest it differently. */
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
