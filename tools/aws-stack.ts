// Writes the policies of deploy/iam into the CloudFormation template.
// Usage: tsx tools/aws-stack.ts [--write]   (without --write it fails if they differ)
import { readFileSync, writeFileSync } from 'node:fs';

import { withPolicies } from './stack-policies.js';

const template = 'deploy/aws/cloudformation.yaml';
const before = readFileSync(template, 'utf8');
const after = withPolicies(before, (name) => readFileSync(`deploy/iam/${name}.json`, 'utf8'));
if (process.argv.includes('--write')) writeFileSync(template, after);
else if (before !== after) {
  process.stderr.write(
    `${template} has other policies than deploy/iam: run \`npx tsx tools/aws-stack.ts --write\`\n`,
  );
  process.exitCode = 1;
}
