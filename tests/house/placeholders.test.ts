import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { commandsOf } from '@dovetail/test-support/guide';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** Runs the guides' own commands that fill in the placeholders of deploy. */
const root = join(import.meta.dirname, '..', '..');
const guide = readFileSync(join(root, 'docs/guides/deploy.md'), 'utf8');
const blocks = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
const filling = blocks.filter((block) => /^filled\b/m.test(block));
const commands = filling.join('');
const variables = [...commands.matchAll(/\b([A-Z_]+)=\S+/g)].map(([, name = '']) => name);
const made = {
  'launcher-policy.json': 'deploy/iam/launcher.json',
  'reaper-policy.json': 'deploy/iam/reaper.json',
  'launcher-trust.json': 'deploy/iam/trust-pod-identity.json',
} as const;

const hasPerl = spawnSync('perl', ['-v']).status === 0;
if (!hasPerl) process.stdout.write('LEFT OUT: the placeholders of the guide: there is no perl\n');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'dovetail-placeholders-'));
  symlinkSync(join(root, 'deploy'), join(dir, 'deploy'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Runs a script of the guide in an empty folder beside `deploy`, with no environment but PATH. */
function ran(script: string): { readonly status: number | null; readonly said: string } {
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', script], {
    cwd: dir,
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  });
  return { status, said: stderr };
}
const textOf = (file: string): string => readFileSync(join(dir, file), 'utf8');
/** The commands up to the block that gives this variable, without it. */
const without = (name: string): string =>
  filling
    .slice(0, filling.findIndex((block) => block.includes(`${name}=`)) + 1)
    .join('')
    .replaceAll(new RegExp(`\\b${name}=\\S+`, 'g'), '');

(hasPerl ? describe : describe.skip)('the commands that fill in placeholders', () => {
  test('the guide has them', () => expect(variables).toContain('CLUSTER_NAME'));

  test('fill in all of them, and change nothing else', () => {
    expect(ran(commands)).toEqual({ status: 0, said: '' });
    for (const [file, source] of Object.entries(made)) {
      expect(textOf(file)).not.toContain('${');
      const holes = readFileSync(join(root, source), 'utf8').split(/\$\{\w+\}/);
      for (const text of holes) expect(textOf(file)).toContain(text);
      JSON.parse(textOf(file));
    }
    expect(textOf('launcher-policy.json')).toContain(':111122223333:cluster/my-cluster"');
  });

  test.each(variables)(
    'without %s they fail, name it, and leave no policy that lacks it',
    (name) => {
      const { status, said } = ran(without(name));
      expect(status).not.toBe(0);
      expect(said).toContain(`export ${name}: deploy/iam/`);
      const lacking = Object.entries(made).filter(([, source]) =>
        readFileSync(join(root, source), 'utf8').includes(`\${${name}}`),
      );
      expect(lacking).not.toEqual([]);
      for (const [file] of lacking) expect(ran(`! test -s ${file}`).status).toBe(0);
    },
  );

  test('the configuration of eksctl is filled in by the same function', () => {
    const [define = ''] = /^filled\(\).*$/m.exec(commands) ?? [];
    const set = 'export CLUSTER_NAME=my-cluster AWS_REGION=us-west-2\n';
    expect(ran(`${set}${define}\nfilled deploy/aws/eksctl.yaml > cluster.yaml`).status).toBe(0);
    expect(textOf('cluster.yaml')).toMatch(/name: my-cluster\n {2}region: us-west-2\n/);
  });
});

/** The five commands of the guide to EKS, with each variable that they use. */
const steps = (await commandsOf('install-on-eks.md', 'Five commands')).filter(
  (command) => !command.startsWith('#'),
);
const inFile = [
  ...readFileSync(join(root, 'deploy/eks/first-node.yaml'), 'utf8').matchAll(/\$\{(\w+)\}/g),
];
const used = (step: string): readonly string[] => [
  ...new Set(
    (step.startsWith('perl')
      ? inFile
      : [...step.matchAll(/\$\{?([A-Z_]{2,})/g)].filter(([, name]) => name !== 'ENV')
    ).map(([, name]) => name ?? ''),
  ),
];
const all = {
  CLUSTER_NAME: 'my-cluster',
  AWS_REGION: 'us-west-2',
  NODE_ROLE: 'nodes',
  REGISTRY: 'own',
  NODE_ARCH: 'arm64',
  STACK: 'dovetail-my-cluster',
};

(hasPerl ? describe : describe.skip)('the five commands of the guide to EKS', () => {
  /** Runs a step whose tools only note that they were called, and what they were given. */
  function noted(step: string, env: Readonly<Record<string, string>>): Noted {
    mkdirSync(join(dir, 'bin'));
    for (const tool of ['aws', 'docker', 'helm', 'kubectl'])
      writeFileSync(
        join(dir, 'bin', tool),
        `#!/bin/sh\necho "${tool} $*" >> ${dir}/called\n[ ${tool} != kubectl ] || cat >> ${dir}/applied\n`,
        { mode: 0o755 },
      );
    const { status, stderr } = spawnSync('bash', ['--norc', '-c', step], {
      cwd: dir,
      env: { ...env, PATH: `${join(dir, 'bin')}:${process.env['PATH'] ?? ''}` },
      encoding: 'utf8',
    });
    const kept = (file: string): string => (existsSync(join(dir, file)) ? textOf(file) : '');
    return { status, said: stderr, called: kept('called'), applied: kept('applied') };
  }

  test('are five, which call the tools that the guide names', () => {
    expect(steps.map((step) => step.split(' ', 1)[0])).toEqual([
      'aws',
      'aws',
      'docker',
      'helm',
      'perl',
    ]);
    expect(inFile.length).toBeGreaterThan(0);
  });

  test.each(steps)('%s runs with every variable set, and leaves no placeholder', (step) => {
    const { status, called, applied } = noted(step, all);
    expect(status).toBe(0);
    expect(called).not.toBe('');
    expect(`${called}${applied}`).not.toMatch(/\$\{|\$[A-Z]/);
  });

  test.each(
    steps.flatMap((step) =>
      used(step).flatMap((name) => [
        [name, 'missing', step] as const,
        [name, 'empty', step] as const,
      ]),
    ),
  )('%s that is %s is refused before anything is changed: %s', (name, how, step) => {
    const { [name as keyof typeof all]: _left, ...others } = all;
    const env: Readonly<Record<string, string>> =
      how === 'empty' ? { ...others, [name]: '' } : others;
    const { called, applied, said } = noted(step, env);
    expect(said).toContain(name);
    expect(applied).toBe('');
    expect(called).toBe(step.startsWith('perl') ? 'kubectl apply -f -\n' : '');
  });
});

type Noted = {
  readonly status: number | null;
  readonly said: string;
  /** The calls of tools, one a line. */
  readonly called: string;
  /** The manifests that kubectl was given. */
  readonly applied: string;
};
