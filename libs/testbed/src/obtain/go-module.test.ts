import { expect, test } from 'vitest';

import { goModText, toolsGoText } from './go-module.js';

test('go.mod requires the module', () =>
  expect(
    goModText({ go: '1.26.5', requires: { path: 'example.org/one', version: 'v1.2.3' } }),
  ).toBe('module dovetail.sh/testbed\n\ngo 1.26.5\n\nrequire example.org/one v1.2.3\n'));

test('go.mod replaces modules', () =>
  expect(
    goModText({
      go: '1.24.0',
      requires: { path: 'k8s.io/kubernetes', version: 'v1.34.3' },
      replaces: { 'k8s.io/api': 'v0.34.3', 'k8s.io/client-go': 'v0.34.3' },
    }),
  ).toBe(
    [
      'module dovetail.sh/testbed',
      '',
      'go 1.24.0',
      '',
      'require k8s.io/kubernetes v1.34.3',
      '',
      'replace (',
      '\tk8s.io/api => k8s.io/api v0.34.3',
      '\tk8s.io/client-go => k8s.io/client-go v0.34.3',
      ')',
      '',
    ].join('\n'),
  ));

test('tools.go imports each program', () => {
  const text = toolsGoText(['go.etcd.io/etcd/server/v3', 'k8s.io/kubernetes/cmd/kube-scheduler']);
  expect(text).toMatch(/^\/\/go:build tools\n\n\/\/ .*\npackage tools\n/);
  expect(text.split('\n').filter((line) => line.startsWith('\t'))).toEqual([
    '\t_ "go.etcd.io/etcd/server/v3"',
    '\t_ "k8s.io/kubernetes/cmd/kube-scheduler"',
  ]);
});
