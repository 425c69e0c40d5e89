import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { trackedFiles, workspacePackages } from '@dovetail/tools/workspace';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const packages = workspacePackages().map((each) => [each.name, each] as const);

/** Whether the target of an export is there; `*` stands for any file. */
function exists(folder: string, target: string): boolean {
  const [before = '', after] = target.split('*');
  if (after === undefined) return existsSync(join(root, folder, target));
  return readdirSync(join(root, folder, before)).some((file) => file.endsWith(after));
}

test.each(packages)('%s exports files that are there', (_name, { folder, manifest }) => {
  const { exports = {} } = manifest as {
    readonly exports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
  const targets = Object.values(exports).flatMap((conditions) => Object.values(conditions));
  expect(targets.filter((target) => !exists(folder, target))).toEqual([]);
});

/** Small functions that were once written again in each wing, with the one home of each. */
const homes = {
  compareText: 'libs/core/kube-model/src/text-order.ts',
  isRecord: 'libs/core/kube-model/src/project/raw.ts',
  messageOf: 'libs/core/ports/src/errors.ts',
  neverStopping: 'libs/core/ports/src/stopper.ts',
  podValue: 'libs/core/kube-model/src/testing/objects.ts',
  recordOf: 'libs/core/kube-model/src/project/raw.ts',
  reportMalformed: 'libs/services/kit/src/tell/malformed-messages.ts',
  stackOf: 'libs/core/ports/src/errors.ts',
};

describe('one meaning has one home', () => {
  const sources = trackedFiles('*.ts').map(
    (file) => [file, readFileSync(join(root, file), 'utf8')] as const,
  );

  test.each(Object.entries(homes))('%s is in %s and nowhere else', (name, home) => {
    const definition = new RegExp(`^(export )?(const|function) ${name}\\b`, 'm');
    expect(sources.filter(([, text]) => definition.test(text)).map(([file]) => file)).toEqual([
      home,
    ]);
  });

  test.each([
    ['compares texts by hand', /[\w.]+ < [\w.]+ \? -1 : 1\)/],
    [
      'reads the message of an unknown error by hand',
      /instanceof Error \? (\w+)\.message : String\(/,
    ],
  ])('no file %s', (_what, shape) => {
    const found = sources.filter(([, text]) => shape.test(text));
    expect(found.map(([file]) => file)).toEqual([]);
  });
});
