/** The references of a CloudFormation template that the placeholders of deploy/iam stand for. */
const references: Readonly<Record<string, string>> = {
  AWS_PARTITION: 'AWS::Partition',
  AWS_REGION: 'AWS::Region',
  AWS_ACCOUNT_ID: 'AWS::AccountId',
  CLUSTER_NAME: 'ClusterName',
  INTERRUPTION_QUEUE: 'InterruptionQueue.QueueName',
  NAMESPACE: 'Namespace',
  NODE_ROLE: 'NodeRole',
  OIDC_PROVIDER: 'OidcProvider',
};

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** A policy for `Fn::Sub`. Throws for a placeholder that the template has no value for. */
function substituted(policy: string, service: string): string {
  const known = { ...references, SERVICE_ACCOUNT: `${capitalized(service)}ServiceAccount` };
  return policy.replaceAll(/\$\{(\w+)\}/g, (placeholder, name: string) => {
    const reference = (known as Readonly<Record<string, string>>)[name];
    if (reference === undefined)
      throw new Error(
        `the placeholder ${placeholder} has no reference; give it one in tools/stack-policies.ts`,
      );
    return `\${${reference}}`;
  });
}

/**
 * A template whose policies are those of deploy/iam. A comment `# deploy/iam/<name>.json`, or
 * `# deploy/iam/<name>.json of the <service>`, stands above each of them, and the JSON text of
 * `!Sub |` below it is replaced.
 */
export function withPolicies(template: string, policyOf: (name: string) => string): string {
  const block =
    /^( *)# deploy\/iam\/([\w-]+)\.json(?: of the (\w+))?\n(.*!Sub \|)\n(?:\1 {2}.*\n)+/gm;
  return template.replaceAll(block, (...match: readonly string[]) => {
    const [, indent = '', name = '', service, opening = ''] = match;
    const lines = substituted(policyOf(name), service ?? name)
      .trimEnd()
      .split('\n');
    const json = lines.map((line) => `${indent}  ${line}`).join('\n');
    const comment = `${indent}# deploy/iam/${name}.json${service ? ` of the ${service}` : ''}`;
    return `${comment}\n${opening}\n${json}\n`;
  });
}
