/**
 * A Go module that requires another, so that `go build` makes its programs. Its texts are code,
 * because a bundle has no files beside it.
 */
export type GoModule = {
  readonly go: string;
  readonly requires: { readonly path: string; readonly version: string };
  /** Modules that it takes at another version than the required one asks for. */
  readonly replaces?: Readonly<Record<string, string>>;
};

/** The text of `go.mod`. */
export function goModText({ go, requires, replaces = {} }: GoModule): string {
  const replaced = Object.entries(replaces).map(
    ([path, version]) => `\t${path} => ${path} ${version}`,
  );
  return `module dovetail.sh/testbed

go ${go}

require ${requires.path} ${requires.version}
${replaced.length === 0 ? '' : `\nreplace (\n${replaced.join('\n')}\n)\n`}`;
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
