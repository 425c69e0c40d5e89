import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/**
 * The linter enforces the direction of dependencies (docs/architecture.md). Without a project graph
 * its rule only warns and passes. So this test plants forbidden imports in existing files and
 * expects each to be refused. Allowed imports show that not everything is refused.
 */
const root = join(import.meta.dirname, '..', '..');
const boundary = '@nx/enforce-module-boundaries';
const foreignKey = 'dovetail/foreign-keys';
type Case = readonly [file: string, code: string, rule: string | undefined];

/** Keys that others write, and records that are asked for them as if they had no prototype. */
const foreignKeys: readonly Case[] = (
  [
    ['(labels: Labels, key: string) => labels[key]', 'libs/core/fleet/src/index.ts'],
    ['(labels: Labels, key: string) => labels[key]', 'libs/contracts/src/limits.ts'],
    ['(labels: Labels, key: string) => labels[key]', 'libs/services/solver/src/index.ts'],
    ['(labels: Labels, key: string) => labels[key]', 'libs/adapters/aws/src/index.ts'],
    ['(labels: Labels, key: string) => labels[key]', 'libs/runtime/src/index.ts'],
    ['(labels: Labels, key: string) => labels[key]', 'libs/sim/clock/src/index.ts'],
    ['(labels: Labels, key: string) => labels[key]', 'apps/cli/src/main.ts'],
    ['(labels?: Labels, key = "a" as string) => labels?.[`${key}`]'],
    ['(labels: Labels, key: string) => (labels[key] = "a")'],
    ['(labels: Labels) => labels["constructor"]'],
    ['(labels: Labels, key: string) => key in labels'],
    ['({ ["a" as string]: a }: Labels) => a'],
  ] as const
)
  .map(([code, file = 'libs/core/fleet/src/index.ts']): Case => [file, code, foreignKey])
  .concat(
    [
      '(labels: Labels) => labels["app"]',
      '(labels: Labels, key: string) => void delete labels[key]',
      '(table: Record<"a" | "b", 1>, key: "a" | "b") => table[key]',
      '(all: readonly string[], index: number) => all[index]',
    ].map((code): Case => ['libs/core/fleet/src/index.ts', code, undefined]),
  )
  .map(([file, code, rule]) => [
    file,
    `export const planted = ${code}; export type Labels = Record<string, string>;`,
    rule,
  ]);

const cases: readonly Case[] = [
  [
    'libs/core/ports/src/index.ts',
    "import { readFileSync } from 'node:fs'; export const planted = readFileSync;",
    'no-restricted-imports',
  ],
  [
    'libs/core/ports/src/index.ts',
    'export const planted = Date.now();',
    'no-restricted-properties',
  ],
  [
    'libs/core/ports/src/index.ts',
    'export const planted = Math.random();',
    'no-restricted-properties',
  ],
  ['libs/core/ports/src/index.ts', 'export const planted = new Date();', 'no-restricted-syntax'],
  ...foreignKeys,
  [
    'libs/core/ports/src/index.ts',
    "import { parse } from 'yaml'; export const planted = parse;",
    boundary,
  ],
  // Both are core, so the layers allow it. Only the graph sees that scheduling already imports
  // ports.
  [
    'libs/core/ports/src/index.ts',
    "import { plan } from '@dovetail/core-scheduling'; export const planted = plan;",
    boundary,
  ],
  [
    'libs/core/scheduling/src/index.ts',
    "import { connectNats } from '@dovetail/adapter-nats'; export const planted = connectNats;",
    boundary,
  ],
  [
    'libs/core/scheduling/src/index.ts',
    "import { streamName } from '@dovetail/contracts'; export const planted = streamName;",
    boundary,
  ],
  [
    'libs/core/scheduling/src/index.ts',
    "import { parseDurationMs } from '@dovetail/core-kube-model'; export const planted = parseDurationMs;",
    undefined,
  ],
  // Not in the index: the linter keeps planted text, and an allowed case below imports the index.
  [
    'libs/contracts/src/limits.ts',
    "import { createLauncher } from '@dovetail/service-launcher'; export const planted = createLauncher;",
    boundary,
  ],
  [
    'libs/services/launcher/src/index.ts',
    "import { EC2Client } from '@aws-sdk/client-ec2'; export const planted = EC2Client;",
    boundary,
  ],
  [
    'libs/services/launcher/src/index.ts',
    "import { hostname } from 'node:os'; export const planted = hostname;",
    'no-restricted-imports',
  ],
  [
    'libs/services/solver/src/index.ts',
    "import { createLog } from '@dovetail/runtime'; export const planted = createLog;",
    boundary,
  ],
  [
    'libs/services/solver/src/index.ts',
    "import { streamName } from '@dovetail/contracts'; export const planted = streamName;",
    undefined,
  ],
  [
    'libs/adapters/nats/src/index.ts',
    "import { createSolver } from '@dovetail/service-solver'; export const planted = createSolver;",
    boundary,
  ],
  [
    'libs/sim/cloud/src/index.ts',
    "import { createAwsCloud } from '@dovetail/adapter-aws/cloud'; export const planted = createAwsCloud;",
    boundary,
  ],
];

/**
 * Lints every case in one process, because the linter takes seconds to start. Returns the rules
 * that each case breaks.
 */
function rulesBroken(): readonly (readonly string[])[] {
  const program = `
    import { ESLint } from 'eslint';
    const linter = new ESLint();
    const found = [];
    for (const [file, code] of JSON.parse(process.argv[1])) {
      const [result] = await linter.lintText(code + '\\n', { filePath: file });
      found.push(result.messages.map((message) => message.ruleId ?? message.message));
    }
    process.stdout.write('\\n' + JSON.stringify(found));`;
  const run = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program, JSON.stringify(cases)],
    { cwd: root, encoding: 'utf8' },
  );
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(
    run.stdout.slice(run.stdout.lastIndexOf('\n')),
  ) as readonly (readonly string[])[];
}

describe('the linter', () => {
  const broken = rulesBroken();
  test.each(
    cases.map(
      ([file, code, rule], index) =>
        [rule === undefined ? 'allows' : 'refuses', code.split(';')[0], file, rule, index] as const,
    ),
  )('%s %s in %s', (_verb, _code, _file, rule, index) => {
    if (rule === undefined) expect(broken[index]).toEqual([]);
    else expect(broken[index]).toContain(rule);
  });
});
