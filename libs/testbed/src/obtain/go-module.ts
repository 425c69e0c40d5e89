/**
 * The Go module that requires Kubernetes, so that `go build` makes its programs. Its texts are
 * code, because a bundle has no files beside it.
 */
export type GoModule = {
  readonly go: string;
  readonly kubernetes: string;
  /** Kubernetes' own libraries, which it requires at v0.0.0. */
  readonly staged: readonly string[];
};

/**
 * The text of `go.mod`.
 *
 * Kubernetes replaces its own libraries by folders of its tree. That works for the main module
 * only, so a module that depends on it repeats the replacements with the published versions.
 */
export function goModText({ go, kubernetes, staged }: GoModule): string {
  const published = kubernetes.replace(/^1\./, 'v0.');
  return `module dovetail.sh/testbed

go ${go}

require k8s.io/kubernetes v${kubernetes}

replace (
${staged.map((path) => `\t${path} => ${path} ${published}`).join('\n')}
)
`;
}

/** The text of `tools.go`: it names the programs, so that `go mod tidy` keeps what they need. */
export function toolsGoText(packages: readonly string[]): string {
  return `//go:build tools

// Package tools names the programs to build, so that \`go mod tidy\` keeps what they need.
package tools

import (
${packages.map((path) => `\t_ "${path}"`).join('\n')}
)
`;
}
