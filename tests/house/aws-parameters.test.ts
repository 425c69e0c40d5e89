import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/** The values that the template and the Terraform module of deploy/aws accept: the same ones. */
const folder = join(import.meta.dirname, '..', '..', 'deploy', 'aws');
const template = readFileSync(join(folder, 'cloudformation.yaml'), 'utf8');
const terraform = readFileSync(join(folder, 'terraform', 'variables.tf'), 'utf8');

describe('what a parameter may be', () => {
  /** The pattern of the template, and that of the module. */
  const patternsOf = (parameter: string, variable: string): readonly RegExp[] => {
    const own = new RegExp(`^  ${parameter}:\n(?: {4}.*\n)*? {4}AllowedPattern: (.*)$`, 'm');
    const theirs = new RegExp(`regex\\((".*"), var\\.${variable}\\)`).exec(terraform)?.[1];
    const written = [own.exec(template)?.[1], JSON.parse(theirs ?? '"is not there"') as string];
    return written.map((pattern) => new RegExp(pattern ?? 'is not there'));
  };
  const role = 'arn:aws:iam::111122223333:role/nodes';
  const issuer = 'oidc.eks.us-east-1.amazonaws.com/id/0123';

  test.each([
    ['ClusterName', 'cluster_name', 'lab', ['', '${NAME}', '-lab', 'c'.repeat(101)]],
    ['Namespace', 'namespace', 'dovetail', ['', '${NAME}', 'Dovetail', 'n'.repeat(64)]],
    ['LauncherServiceAccount', 'launcher_service_account', 'dovetail-launcher', ['', '${NAME}']],
    ['ReaperServiceAccount', 'reaper_service_account', 'dovetail-reaper', ['', 'dovetail:reaper']],
    [
      'OidcProvider',
      'oidc_provider',
      issuer,
      [`https://${issuer}`, `arn:aws:iam::111122223333:oidc-provider/${issuer}`],
    ],
    ['NodeRoleName', 'node_role_name', 'lab-nodes', [role, 'path/nodes', 'n'.repeat(65)]],
    ['QueueName', 'queue_name', 'lab', ['https://sqs/lab', 'lab.fifo', 'q'.repeat(81)]],
  ])('%s and %s accept %j, and refuse %j', (parameter, variable, good, refused) => {
    for (const pattern of patternsOf(parameter, variable)) {
      expect(pattern.test(good)).toBe(true);
      expect(refused.filter((value) => pattern.test(value))).toEqual([]);
    }
  });

  test.each([
    ['OidcProvider', 'oidc_provider'],
    ['NodeRoleName', 'node_role_name'],
    ['QueueName', 'queue_name'],
  ])('%s and %s may be left empty', (parameter, variable) =>
    expect(patternsOf(parameter, variable).map((pattern) => pattern.test(''))).toEqual([
      true,
      true,
    ]),
  );
});
