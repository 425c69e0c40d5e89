import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { browserFor, newPage } from '@dovetail/test-support/browser';
import { ranCommand } from '@dovetail/test-support/command';
import { eventually } from '@dovetail/test-support/world';
import { isUnavailable, obtainKubectl, run } from '@dovetail/testbed';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The walk of docs/guides/try-it.md: its commands as they stand, in the folder of a lab. */
const root = join(import.meta.dirname, '..', '..');
const guide = await readFile(join(root, 'docs/guides/try-it.md'), 'utf8');

type Step = {
  readonly title: string;
  readonly commands: readonly string[];
  readonly shown: string;
  readonly onPage: readonly string[];
};

const section = guide.split('\n## A walk of ten minutes\n')[1]?.split('\n## ')[0] ?? '';
const steps: readonly Step[] = section.split('\n### ').slice(1).map(stepOf);

function stepOf(text: string): Step {
  const [title = ''] = text.split('\n');
  const [, commands = ''] = /^```sh\n([^]*?)^```$/m.exec(text) ?? [];
  const [, shown = ''] = /^```text\n([^]*?)^```$/m.exec(text) ?? [];
  const ofPage = text
    .split('\n\n')
    .filter((paragraph) => /^The page |\nThe page /.test(paragraph))
    .flatMap((paragraph) => paragraph.split(/\.\s/))
    .filter((sentence) => sentence.includes('The page '));
  const onPage = ofPage.flatMap((sentence) =>
    [...sentence.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words),
  );
  return { title, commands: commands.trimEnd().split('\n'), shown, onPage };
}

/** The lines without what differs from run to run: times, names, numbers, widths of columns. */
const shapes = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) =>
      line
        .replace(/^\d{4}-\S+Z/, 'time')
        .replaceAll(/default-[0-9a-f]{12}/g, 'claim')
        .replaceAll(/\bip-[\d-]+/g, 'ip')
        .replaceAll(/us-west-2[a-d]\b/g, 'zone')
        .replaceAll(/\b[a-z]\w+\.\d*(x?large|metal)\b/g, 'type')
        .replaceAll(/\b\d+[smhd]( \d+[smhd])?\b/g, 'age')
        .replaceAll(/~?\$?\d+(\.\d+)?\b/g, 'number')
        .replaceAll(/(node|pod)s\b/g, '$1')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );

const kubectl = await obtainKubectl();
const browser = await browserFor('the page beside the walk');

if (isUnavailable(kubectl))
  process.stdout.write(`LEFT OUT: the walk of the guide: ${kubectl.unavailable}\n`);

describe.runIf(!isUnavailable(kubectl))('the walk of the guide', () => {
  let folder = '';
  let page: Page | undefined;
  const sh = async (script: string): Promise<string> => {
    const PATH = [join(folder, 'bin'), process.env['PATH'] ?? ''].join(delimiter);
    const ended = await run('sh', ['-ec', script], {
      deadlineMs: 200_000,
      remedy: 'read its output',
      cwd: folder,
      env: { ...process.env, PATH, NO_COLOR: '1' },
    });
    return ended.stdout;
  };
  const program = async (name: string, script: string): Promise<void> => {
    const path = join(folder, 'bin', name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-walk-'));
    await run('mkdir', [join(folder, 'bin')], { deadlineMs: 10_000, remedy: 'look' });
    await symlink(join(root, 'examples'), join(folder, 'examples'));
    const node = JSON.stringify(process.execPath);
    await program('npx', `shift; exec ${node} "${join(root, 'dist', 'cli.js')}" "$@"`);
    if (!isUnavailable(kubectl)) await program('kubectl', `exec "${kubectl.path}" "$@"`);
    const up = await ranCommand({ name: 'lab', folder, args: ['up'] });
    expect(up).toMatchObject({ code: 0 });
    const [, address] = /^ {2}console: (http\S+)$/m.exec(up.output) ?? [];
    if (browser === undefined || address === undefined) return;
    page = await newPage(browser, { viewport: { width: 1280, height: 3000 } });
    await page.goto(address);
  });
  afterAll(async () => {
    await browser?.close();
    await ranCommand({ name: 'lab', folder, args: ['down'] });
    await rm(folder, { recursive: true, force: true });
  });

  test('has steps with commands, what they print and what the page shows', () => {
    expect(steps).toHaveLength(6);
    for (const { commands, shown, onPage } of steps) {
      expect(commands.length).toBeGreaterThan(1);
      expect(shown).not.toBe('');
      expect(onPage).not.toEqual([]);
    }
  });

  test.each(steps)('$title', async ({ commands, shown, onPage }) => {
    const [last = '', ...before] = commands.toReversed();
    const [first = ''] = commands;
    await sh(before.toReversed().join('\n'));
    await eventually('what the guide shows', async () => {
      const told = new Set(shapes(await sh(`${first}\n${last}`)));
      expect(shapes(shown).filter((line) => !told.has(line))).toEqual([]);
      return true;
    });
    if (page === undefined) return;
    const open = page;
    await eventually('what the page shows', async () => {
      const text = await open.locator('body').innerText();
      expect(onPage.filter((words) => !text.includes(words))).toEqual([]);
      return true;
    });
  });
});
