import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { helmFor, type Rendered, theOne } from '@dovetail/test-support/chart';
import { commandsOf } from '@dovetail/test-support/guide';
import { run } from '@dovetail/testbed';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

/** The first installation, as the guide writes its command, rendered by a real Helm. */
const root = join(import.meta.dirname, '..', '..');
const helm = await helmFor('the install command of the guide');
const commands = await commandsOf('deploy.md', 'Image and chart');
const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

type Account = Rendered & { readonly metadata: { readonly namespace: string } };
type Deployment = Rendered & {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly containers: readonly [{ readonly env: readonly unknown[] }];
        readonly volumes: readonly unknown[];
      };
    };
  };
};

async function installed(): Promise<readonly Rendered[]> {
  const command = commands.find((each) => each.startsWith('helm install')) ?? '';
  const words = command
    .replace(/^helm install/, 'template')
    .replaceAll(/\\\n|"/g, '')
    .replaceAll('\\\\', '\\')
    .replaceAll(/<([\w ]+)>/g, (_, name: string) => name.replaceAll(' ', '-'))
    .trim()
    .split(/\s+/);
  if (helm === undefined) throw new Error('no helm');
  const { stdout } = await run(helm.path, words, {
    deadlineMs: 60_000,
    remedy: 'read its output',
    cwd: root,
  });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Rendered);
}

(helm === undefined ? describe.skip : describe)('the install command of the guide', () => {
  test.each(services)('gives %s the user that the commands before it made', async (service) => {
    const made = commands.findIndex((each) => each.includes('dovetail nats-users'));
    expect(made).toBeLessThan(commands.findIndex((each) => each.startsWith('helm install')));
    const loop = commands.find((each) => each.startsWith('for service in')) ?? '';
    expect(loop).toMatch(new RegExp(`in [\\w -]*\\b${service}\\b[\\w -]*; do`));
    const { spec } = theOne<Deployment>(await installed(), 'Deployment', `-${service}`);
    const [container] = spec.template.spec.containers;
    expect(container.env).toContainEqual({ name: 'NATS_CREDENTIALS', value: '/etc/nats/creds' });
    const secretName = `dovetail-nats-${service}`;
    expect(loop.replaceAll('$service', service)).toContain(`secret generic ${secretName} `);
    expect(spec.template.spec.volumes).toContainEqual({ name: 'nats', secret: { secretName } });
  });

  test.each(['Launcher', 'Reaper'])(
    'makes the ServiceAccount that the stack trusts as the %s',
    async (id) => {
      const template = readFileSync(join(root, 'deploy/aws/cloudformation.yaml'), 'utf8');
      const defaultOf = (parameter: string): string =>
        new RegExp(`^  ${parameter}:\n(?: {4}.*\n)*? {4}Default: (.*)$`, 'm').exec(template)?.[1] ??
        '';
      const account = theOne<Account>(
        await installed(),
        'ServiceAccount',
        defaultOf(`${id}ServiceAccount`),
      );
      expect(account.metadata).toMatchObject({
        name: defaultOf(`${id}ServiceAccount`),
        namespace: defaultOf('Namespace'),
        annotations: { 'eks.amazonaws.com/role-arn': `${id.toLowerCase()}-role` },
      });
    },
  );
});
