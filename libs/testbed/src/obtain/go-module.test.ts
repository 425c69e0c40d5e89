import { expect, test } from '@jest/globals';

import { goModText, toolsGoText } from './go-module.js';

test("go.mod repeats Kubernetes' replacements with the published versions", () =>
  expect(
    goModText({ go: '1.24.0', kubernetes: '1.34.3', staged: ['k8s.io/api', 'k8s.io/client-go'] }),
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
