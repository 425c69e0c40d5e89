import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('the image that the guide to EKS builds', () => {
  const guide = read('docs/guides/install-on-eks.md');

  test('is for the architecture of the node group of eksctl.yaml', () => {
    const { managedNodeGroups } = parse(read('deploy/aws/eksctl.yaml')) as {
      readonly managedNodeGroups: readonly { readonly instanceType: string }[];
    };
    // A `g` after the generation is AWS' own processor: m7g, c6gd.
    const isArm = managedNodeGroups.map(({ instanceType }) => /^[a-z]+\d+g/.test(instanceType));
    expect(isArm).toEqual([true]);
    expect(guide).toContain('export NODE_ARCH=arm64 ');
    expect(guide).toContain('docker build --platform "linux/${NODE_ARCH:?}" ');
    // Nothing of the last stage runs, so a machine of the other architecture can build it.
    const last = read('deploy/docker/Dockerfile').split('\nFROM $BASE\n')[1] ?? '';
    expect(last).toContain('COPY --from=build');
    expect(last).not.toMatch(/^RUN /m);
  });

  test('goes into a repository that the guide makes, after a login', () => {
    const [, repository = ''] = /ecr create-repository .*--repository-name (\S+)/.exec(guide) ?? [];
    expect(repository).toBe('dovetail');
    expect(guide).toContain(`docker push "$REGISTRY/${repository}:`);
    expect(guide.indexOf('| docker login ')).toBeGreaterThan(0);
    expect(guide.indexOf('| docker login ')).toBeLessThan(guide.indexOf('docker push'));
  });
});

test.each([
  ['my-cluster', 'dovetail-my-cluster'],
  ['my_cluster_1', 'dovetail-my-cluster-1'],
])(
  'the guide to EKS names the stack of the cluster %s %s, as CloudFormation takes it',
  (name, stack) => {
    const guide = read('docs/guides/install-on-eks.md');
    const [, line = ''] = /^(export NODE_ARCH=.*)$/m.exec(guide) ?? [];
    const script = `CLUSTER_NAME=${name}; ${line}; printf %s "$STACK"`;
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe(stack);
    const named = [...guide.matchAll(/--stack-name (\S+)/g)].map(([, given]) => given);
    expect(named).toEqual(['"${STACK:?}"', '"${STACK:?}"']);
  },
);
