import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  forTests,
  isUnavailable,
  obtainGoProgram,
  obtainStackLinters,
  run,
} from '@dovetail/testbed';
import { describe, expect, test } from 'vitest';

/** Checks the files of deploy/aws by tools that know AWS' resources and Terraform's language. */
const folder = join(import.meta.dirname, '..', '..', '..', 'deploy', 'aws');
const deadlineMs = 120_000;
const terraform = join(folder, 'terraform');
const terraformFiles = readdirSync(terraform).filter((file) => file.endsWith('.tf'));

type Blocks = readonly Readonly<Record<string, unknown>>[];
type TerraformFile = { readonly resource?: Blocks; readonly variable?: Blocks };

const reader = [
  'import hcl2, json, sys',
  'files = [hcl2.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]',
  'print(json.dumps(files, default=str))',
].join('\n');

/** Terraform's own formatter reads the language; it needs no provider, as `validate` does. */
const formatted = await run('terraform', ['fmt', '-check', '-diff', terraform], {
  deadlineMs,
  remedy: 'run terraform fmt',
}).then(
  () => 'is as it should be',
  (error: unknown) => String(error),
);
const noTerraform = formatted.includes('ENOENT');
if (noTerraform) process.stdout.write('LEFT OUT: terraform fmt: there is no terraform on PATH\n');
(noTerraform ? test.skip : test)('the Terraform module is as terraform fmt writes it', () =>
  expect(formatted).toBe('is as it should be'),
);

const eksctl = await forTests(() => obtainGoProgram(join(import.meta.dirname, 'eksctl')));
if (isUnavailable(eksctl))
  process.stdout.write(`LEFT OUT: the rules of eksctl: ${eksctl.unavailable}\n`);
(isUnavailable(eksctl) ? describe.skip : describe)('the configuration of eksctl', () => {
  const written = readFileSync(join(folder, 'eksctl.yaml'), 'utf8');
  const filled = written
    .replaceAll('${CLUSTER_NAME}', 'my-cluster')
    .replaceAll('${AWS_REGION}', 'us-west-2');
  /** The fault that eksctl's own rules find in a file; empty if it is right. */
  const faults = async (text: string): Promise<string> => {
    if (isUnavailable(eksctl)) throw new Error(eksctl.unavailable);
    const dir = mkdtempSync(join(tmpdir(), 'dovetail-eksctl-'));
    const file = join(dir, 'cluster.yaml');
    writeFileSync(file, text);
    const said = await run(eksctl.path, [file], { deadlineMs, remedy: 'read it' }).then(
      () => '',
      (error: unknown) => String(error),
    );
    rmSync(dir, { recursive: true });
    return said;
  };

  test('is what eksctl 0.215 accepts', async () => expect(await faults(filled)).toBe(''));

  test.each([
    ['a field of no such name', filled.replace('minSize', 'minimumSize'), /unknown field/],
    ['a group whose bounds cross', filled.replace('maxSize: 4', 'maxSize: 1'), /nodes-max=1/],
  ])('would be refused for %s', async (_what, text, words) =>
    expect(await faults(text)).toMatch(words),
  );
});

const linters = await forTests(obtainStackLinters);
if (isUnavailable(linters)) {
  process.stdout.write(`LEFT OUT: cfn-lint and a parser of Terraform: ${linters.unavailable}\n`);
  test.skip(`cfn-lint: ${linters.unavailable}`, () => undefined);
} else {
  describe('the CloudFormation template', () => {
    test(
      'is found clean by cfn-lint in four regions of three partitions',
      async () => {
        const program = 'import sys; from cfnlint.runner import main; sys.exit(main())';
        const regions = ['us-west-2', 'eu-central-1', 'us-gov-west-1', 'cn-north-1'];
        const template = join(folder, 'cloudformation.yaml');
        const { stdout } = await run(
          linters.path,
          ['-c', program, '--include-checks', 'I', '--regions', ...regions, '--template', template],
          { deadlineMs, remedy: 'read what cfn-lint prints' },
        );
        expect(stdout.trim()).toBe('');
      },
      deadlineMs,
    );
  });

  describe('the Terraform module', () => {
    test('is in the language of Terraform, and makes what the template makes', async () => {
      const paths = terraformFiles.map((file) => join(terraform, file));
      const { stdout } = await run(linters.path, ['-c', reader, ...paths], {
        deadlineMs,
        remedy: 'read what the parser prints',
      });
      const files = JSON.parse(stdout) as readonly TerraformFile[];
      const types = files
        .flatMap(({ resource = [] }) => resource)
        .flatMap((block) => Object.keys(block).map((type) => type.replaceAll('"', '')));
      expect([...new Set(types)].toSorted()).toEqual([
        'aws_cloudwatch_event_rule',
        'aws_cloudwatch_event_target',
        'aws_eks_access_entry',
        'aws_eks_pod_identity_association',
        'aws_iam_instance_profile',
        'aws_iam_policy',
        'aws_iam_role',
        'aws_iam_role_policy_attachment',
        'aws_iam_service_linked_role',
        'aws_sqs_queue',
        'aws_sqs_queue_policy',
      ]);
      const variables = files
        .flatMap(({ variable = [] }) => variable)
        .flatMap((block) => Object.keys(block).map((name) => name.replaceAll('"', '')));
      const text = paths.map((path) => readFileSync(path, 'utf8')).join('\n');
      const used = [...text.matchAll(/\bvar\.(\w+)/g)].map(([, name]) => name ?? '');
      expect([...new Set(used)].toSorted()).toEqual(variables.toSorted());
    });

    test.each(['launcher', 'reaper', 'trust-irsa', 'trust-pod-identity'])(
      'gives %s.json each placeholder that it has',
      (name) => {
        const policy = readFileSync(join(folder, '..', 'iam', `${name}.json`), 'utf8');
        const main = readFileSync(join(terraform, 'main.tf'), 'utf8');
        const file = name.startsWith('trust') ? name : '${service}';
        const [, given = ''] =
          new RegExp(
            `templatefile\\("[^"]*/${file.replace('$', '\\$')}\\.json", \\{([^}]*)\\}`,
          ).exec(main) ?? [];
        const values = [...given.matchAll(/^\s*(\w+)\s*=/gm)].map(([, value]) => value ?? '');
        const wanted = [...policy.matchAll(/\$\{(\w+)\}/g)].map(
          ([, placeholder]) => placeholder ?? '',
        );
        // Terraform refuses a template that asks for more than it is given.
        expect(wanted.filter((placeholder) => !values.includes(placeholder))).toEqual([]);
      },
    );
  });
}
