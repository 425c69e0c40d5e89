import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** Runs the guide's own commands that fill in the placeholders of deploy. */
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
