import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  declarationOf,
  forTests,
  isUnavailable,
  obtainGoProgram,
  obtainStackLinters,
  obtainTerraformArguments,
  run,
} from '@dovetail/testbed';
import { describe, expect, test } from 'vitest';

/** Checks the files of deploy/aws by tools that know AWS' resources and Terraform's language. */
const folder = join(import.meta.dirname, '..', '..', '..', 'deploy', 'aws');
const deadlineMs = 120_000;
const terraform = join(folder, 'terraform');
const terraformFiles = readdirSync(terraform).filter((file) => file.endsWith('.tf'));

type Blocks = readonly Readonly<Record<string, unknown>>[];
type TerraformFile = {
  readonly resource?: Blocks;
  readonly data?: Blocks;
  readonly variable?: Blocks;
  /** Checks, each with the data sources that it alone reads. */
  readonly check?: readonly Readonly<Record<string, { readonly data?: Blocks }>>[];
};

type Resource = { readonly type: string; readonly name: string; readonly given: readonly string[] };

const unquoted = (text: string): string => text.replaceAll('"', '');

/** Every resource and data source, with the arguments that it is given. */
const resourcesOf = (files: readonly TerraformFile[]): readonly Resource[] =>
  (['resource', 'data'] as const).flatMap((kind) =>
    files
      .flatMap(({ check = [], ...file }) => [file, ...check.flatMap((each) => Object.values(each))])
      .flatMap((scope: TerraformFile) => scope[kind] ?? [])
      .flatMap((block) => Object.entries(block))
      .flatMap(([type, named]) =>
        Object.entries(named as Readonly<Record<string, object>>).map(([name, body]) => ({
          type: `${kind === 'data' ? 'data.' : ''}${unquoted(type)}`,
          name: unquoted(name),
          given: Object.keys(body).filter((key) => !/^__/.test(key)),
        })),
      ),
  );

const terraformPaths = terraformFiles.map((file) => join(terraform, file));
const terraformText = terraformPaths.map((path) => readFileSync(path, 'utf8')).join('\n');

async function terraformRead(python: string): Promise<readonly TerraformFile[]> {
  const { stdout } = await run(python, ['-c', reader, ...terraformPaths], {
    deadlineMs,
    remedy: 'read what the parser prints',
  });
  return JSON.parse(stdout) as readonly TerraformFile[];
}

const reader = [
  'import hcl2, json, sys',
  'files = [hcl2.load(open(path, encoding="utf-8")) for path in sys.argv[1:]]',
  'print(json.dumps(files, default=str))',
].join('\n');

/** Terraform's own formatter reads the language; unlike `validate` it needs no provider. */
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

/** Variables without resources need no provider, so that Terraform itself judges their values. */
(noTerraform ? describe.skip : describe)('the variables of the Terraform module', () => {
  const judged = async (values: Readonly<Record<string, string | null>>): Promise<string> => {
    const dir = mkdtempSync(join(tmpdir(), 'dovetail-terraform-'));
    copyFileSync(join(terraform, 'variables.tf'), join(dir, 'variables.tf'));
    const given = { cluster_name: 'my-cluster', ...values };
    writeFileSync(join(dir, 'given.auto.tfvars.json'), JSON.stringify(given));
    const said = await run('terraform', [`-chdir=${dir}`, 'plan', '-no-color', '-input=false'], {
      deadlineMs,
      remedy: 'read it',
    }).then(
      () => 'accepted',
      (error: unknown) => String(error).replaceAll(/[\s│]+/g, ' '),
    );
    rmSync(dir, { recursive: true });
    return said;
  };
  const issuer = 'oidc.eks.us-west-2.amazonaws.com/id/0123';

  test.each([
    ['the defaults', {}],
    ['null for those that may be empty', { oidc_provider: null, node_role_name: null }],
    ['names and an issuer', { oidc_provider: issuer, node_role_name: 'my-nodes', queue_name: 'q' }],
  ])('may be %s', async (_what, values) => expect(await judged(values)).toBe('accepted'));

  test.each([
    ['an issuer with https://', { oidc_provider: `https://${issuer}` }, /trimprefix\(issuer/],
    ['the ARN of a role', { node_role_name: 'arn:aws:iam::1:role/n' }, /not its ARN/],
    ['a role of 65 characters', { node_role_name: 'n'.repeat(65) }, /at most 64 letters/],
    ['the URL of a queue', { queue_name: 'https://sqs/q' }, /not its URL/],
    ['a cluster of 101 characters', { cluster_name: 'c'.repeat(101) }, /at most 100 letters/],
    ['a namespace in capitals', { namespace: 'Dovetail' }, /lower-case letters/],
    ['an account with a namespace', { reaper_service_account: 'a/b' }, /without its namespace/],
  ])('may not be %s, and the remedy is named', async (_what, values, remedy) =>
    expect(await judged(values)).toMatch(remedy),
  );
});

test('terraform destroy takes no service-linked role from other clusters of the account', () =>
  expect(terraformText).not.toMatch(/resource "aws_iam_service_linked_role"/));

test('the Terraform module reads the region in every version of the provider that it allows', () => {
  expect(terraformText).toMatch(/version = ">= 5\.\d+"/);
  // Version 5 has `name`, which is deprecated in 6, and 6 has `region`. `try` hides neither from
  // `terraform validate`.
  const read = [...terraformText.matchAll(/data\.aws_region\.\w+\.(\w+)/g)];
  expect(read.map(([, attribute]) => attribute)).toEqual(['id']);
});

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

/** The resources and data sources of the module; a data source as `data.…`. */
const terraformTypes = [
  ...new Set(
    [...terraformText.matchAll(/^ *(resource|data) "(\w+)"/gm)].map(
      ([, kind, type]) => `${kind === 'data' ? 'data.' : ''}${type}`,
    ),
  ),
];
/** Arguments that Terraform itself reads. */
const metaArguments: ReadonlySet<string> = new Set(['count', 'for_each', 'depends_on']);

/** The arguments of a type by name, and whether each must be given. */
function argumentsIn(declaration: string): ReadonlyMap<string, { readonly isRequired: boolean }> {
  const [, config = ''] =
    /^export interface \w+Config [^]*?\{\n([^]*?)^\}/m.exec(declaration) ?? [];
  const found = config.matchAll(/#(\w+) \w+#\1\}\n[^]*?readonly \w+(\??):/g);
  return new Map([...found].map(([, name = '', mark]) => [name, { isRequired: mark === '' }]));
}

const camel = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());

const linters = await forTests(obtainStackLinters);
const declared = await forTests(() => obtainTerraformArguments(terraformTypes));
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
    test('is in the language of Terraform, and makes what the template makes but for the role of Spot', async () => {
      const files = await terraformRead(linters.path);
      const made = resourcesOf(files).flatMap(({ type }) => (/^data/.test(type) ? [] : [type]));
      expect([...new Set(made)].toSorted()).toEqual([
        'aws_cloudwatch_event_rule',
        'aws_cloudwatch_event_target',
        'aws_eks_access_entry',
        'aws_eks_pod_identity_association',
        'aws_iam_instance_profile',
        'aws_iam_policy',
        'aws_iam_role',
        'aws_iam_role_policy_attachment',
        'aws_sqs_queue',
        'aws_sqs_queue_policy',
      ]);
      const variables = files
        .flatMap(({ variable = [] }) => variable)
        .flatMap((block) => Object.keys(block).map((name) => name.replaceAll('"', '')));
      const used = [...terraformText.matchAll(/\bvar\.(\w+)/g)].map(([, name]) => name ?? '');
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

if (isUnavailable(linters) || isUnavailable(declared)) {
  const why = [linters, declared].flatMap((each) => (isUnavailable(each) ? each.unavailable : []));
  process.stdout.write(`LEFT OUT: the schema of Terraform's provider of AWS: ${why[0]}\n`);
  test.skip(`the schema of Terraform's provider of AWS: ${why[0]}`, () => undefined);
} else {
  describe("Terraform's provider of AWS 6.25", () => {
    const declarations = new Map(
      terraformTypes.map((type) => [
        type,
        readFileSync(join(declared.folder, declarationOf(type)), 'utf8'),
      ]),
    );
    /** The faults that the provider would find in the arguments of a resource. */
    const faultsOf = ({ type, name, given }: Resource): readonly string[] => {
      const known = argumentsIn(declarations.get(type) ?? '');
      return [
        ...given
          .filter((each) => !known.has(each) && !metaArguments.has(each))
          .map((each) => `${type}.${name} has no argument ${each}`),
        ...[...known]
          .filter(([each, { isRequired }]) => isRequired && !given.includes(each))
          .map(([each]) => `${type}.${name} needs ${each}`),
      ];
    };

    test('knows every argument that the module gives, and is given each that it needs', async () => {
      const resources = resourcesOf(await terraformRead(linters.path));
      expect(resources).toHaveLength([...terraformText.matchAll(/^ *(resource|data) "/gm)].length);
      expect(resources.flatMap(faultsOf)).toEqual([]);
    });

    test('would refuse a misspelt argument, and one that is missing', () =>
      expect(
        faultsOf({ type: 'aws_sqs_queue_policy', name: 'it', given: ['queue_ulr', 'policy'] }),
      ).toEqual([
        'aws_sqs_queue_policy.it has no argument queue_ulr',
        'aws_sqs_queue_policy.it needs queue_url',
      ]));

    test('has every attribute that the module reads', () => {
      const read = terraformText.matchAll(/\b((?:data\.)?aws_\w+)\.\w+(?:\[[^\]]*\])?\.(\w+)/g);
      const attributes = [...read].map(([, type = '', name = '']) => ({ type, name }));
      expect(attributes.length).toBeGreaterThan(15);
      const missing = attributes.filter(
        ({ type, name }) => declarations.get(type)?.includes(` get ${camel(name)}()`) !== true,
      );
      expect(missing).toEqual([]);
    });
  });
}
