import { tags } from '@dovetail/core-api';

import type { TestWorld } from './world.js';

/** A launch template as EC2 describes it. */
export type DescribedTemplate = {
  readonly name: string;
  readonly imageId: string;
  readonly securityGroupIds: readonly string[];
  readonly userData: string;
};

/** The cluster's launch templates according to EC2, over its query protocol. */
export async function launchTemplates(at: TestWorld): Promise<readonly DescribedTemplate[]> {
  const listed = await ask(at, 'DescribeLaunchTemplates', {
    'Filter.1.Name': `tag:${tags.cluster(at.lab.options.clusterName)}`,
    'Filter.1.Value.1': 'owned',
  });
  return Promise.all(valuesOf(listed, 'launchTemplateName').map((name) => described(at, name)));
}

async function described(at: TestWorld, name: string): Promise<DescribedTemplate> {
  const answer = await ask(at, 'DescribeLaunchTemplateVersions', { LaunchTemplateName: name });
  return {
    name,
    imageId: valuesOf(answer, 'imageId').join(),
    securityGroupIds: [
      ...new Set([...answer.matchAll(/>(sg-[0-9a-f]+)</g)].map(([, id]) => id ?? '')),
    ].toSorted(),
    userData: Buffer.from(valuesOf(answer, 'userData').join(), 'base64').toString('utf8'),
  };
}

/** The names of the account's instance profiles according to IAM. */
export async function instanceProfiles(at: TestWorld): Promise<readonly string[]> {
  const answer = await ask(at, 'ListInstanceProfiles', {}, iam);
  return valuesOf(answer, 'InstanceProfileName');
}

/** A service of AWS with the query protocol, and the version of its API. */
type QueryService = { readonly name: string; readonly version: string };
const ec2: QueryService = { name: 'ec2', version: '2016-11-15' };
const iam: QueryService = { name: 'iam', version: '2010-05-08' };

async function ask(
  at: TestWorld,
  action: string,
  params: Readonly<Record<string, string>>,
  { name, version }: QueryService = ec2,
): Promise<string> {
  const response = await fetch(at.lab.cloudUrl, {
    method: 'POST',
    body: new URLSearchParams({ Action: action, Version: version, ...params }),
    // The twin reads key, region and service of a signature, and does not verify it.
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=somebody/20260101/${at.lab.options.region}/${name}/aws4_request, SignedHeaders=host, Signature=none`,
    },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${action}: ${response.status} ${text}`);
  return text;
}

const valuesOf = (xml: string, element: string): readonly string[] =>
  [...xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map(
    ([, value]) => value ?? '',
  );
