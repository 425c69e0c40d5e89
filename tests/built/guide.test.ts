import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats, type NatsBus } from '@dovetail/adapter-nats';
import { type Decision, publishDecision, streamSpecs } from '@dovetail/contracts';
import { systemClock, systemHash } from '@dovetail/runtime';
import {
  isUnavailable,
  obtainNatsServer,
  type RunningNats,
  startNats,
  waitFor,
  wantsRealParts,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * The steps of the guide to subscribing, as it writes them: in an empty folder beside the checkout,
 * until the program prints a launch.
 */
const root = join(import.meta.dirname, '..', '..');
const guide = readFileSync(join(root, 'docs/guides/subscribe.md'), 'utf8');
const beside = mkdtempSync(join(tmpdir(), 'dovetail-guide-'));
symlinkSync(root, join(beside, 'dovetail'));
afterAll(() => rmSync(beside, { recursive: true, force: true }));

/** The steps under a heading: the block of them that copies a program. */
function stepsUnder(heading: string): string {
  const section = guide.split(`\n${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
  const blocks = [...section.matchAll(/^```sh\n([^`]*)^```$/gm)].map(([, block]) => block ?? '');
  return blocks.find((block) => block.includes('cp ')) ?? '';
}

/** A new, empty folder. */
function emptyFolder(name: string): string {
  const folder = join(beside, name);
  mkdirSync(folder);
  return folder;
}

const decision = (id: string): Decision => ({
  id,
  kind: 'launch',
  atMs: 1_700_000_000_000,
  source: 'launcher/1',
  summary: 'launched c6g.2xlarge',
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
  priceMicrosPerHour: 272_000,
});

const program = await obtainNatsServer();
(isUnavailable(program) ? describe.skip : describe)('the steps of the guide', () => {
  let nats: RunningNats;
  let bus: NatsBus;
  let published = 0;
  const publish = async (): Promise<void> => {
    const channel = { bus, cluster: 'lab', hash: systemHash, source: 'test', clock: systemClock };
    published += 1;
    await publishDecision(channel, decision(`launch-${published}`));
  };
  const started = (steps: string, folder: string): ChildProcess =>
    spawn('sh', ['-e', '-c', steps], {
      cwd: folder,
      // A group of its own, so that a signal reaches the program behind the shell.
      detached: true,
      env: { ...process.env, NATS_URL: nats.url, NATS_CREDENTIALS: '', CLUSTER_NAME: 'lab' },
    });
  beforeAll(async () => {
    if (isUnavailable(program)) return;
    nats = await startNats({ path: program.path, dir: join(beside, 'nats') });
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    bus = connectNats({ servers: [nats.url], name: 'writer', log });
    await bus.ensureStreams(streamSpecs('lab'));
  });
  afterAll(async () => {
    await bus?.close();
    await nats?.stop();
  });

  /** Takes the steps, publishes until the program has printed a launch, and interrupts it. */
  async function linesOf(steps: string, folder: string): Promise<readonly string[]> {
    const child = started(steps, folder);
    let [output, errors] = ['', ''];
    child.stdout?.on('data', (chunk) => (output += String(chunk)));
    child.stderr?.on('data', (chunk) => (errors += String(chunk)));
    const launches = (): readonly string[] =>
      output.split('\n').filter((line) => line.startsWith('launched '));
    try {
      await waitFor(
        async () => {
          await publish();
          return launches().length > 0 || child.exitCode !== null;
        },
        { what: 'a launch', deadlineMs: 600_000, everyMs: 1_000 },
      );
    } finally {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    }
    if (launches().length === 0) throw new Error(`the steps ended: ${output}\n${errors}`);
    return launches();
  }

  const cases = [
    ['## From a program', 'library', true],
    ['### Node.js', 'node', true],
    ['### Go', 'go', wantsRealParts()],
    ['### Python', 'python', wantsRealParts()],
  ] as const;
  test.each(cases)(
    'under "%s" lead to a program that prints launches',
    async (heading, name, has) => {
      const steps = stepsUnder(heading);
      expect(steps).toContain('cp ');
      if (!has)
        return void process.stdout.write(
          `LEFT OUT: the steps under ${heading}: \`make test-real\` includes them\n`,
        );
      expect((await linesOf(steps, emptyFolder(name)))[0]).toBe('launched c6g.2xlarge 0.272');
    },
  );

  test('make a folder in which the same text compiles as TypeScript', () => {
    const folder = join(beside, 'library');
    writeFileSync(
      join(folder, 'subscriber.mts'),
      readFileSync(join(folder, 'subscriber.mjs'), 'utf8'),
    );
    const config = {
      compilerOptions: {
        module: 'nodenext',
        target: 'es2023',
        strict: true,
        noEmit: true,
        types: ['node'],
        typeRoots: [join(root, 'node_modules/@types')],
      },
      files: ['subscriber.mts'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(root, 'node_modules/typescript7/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [compiler, '--pretty', 'false', '-p', '.'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  });
});

test('the line of jq prints what the guide shows', () => {
  const [, filter = ''] = /decisions -o json --kind launch \| jq -c '([^']+)'/.exec(guide) ?? [];
  const [, shown = ''] = /The last command prints[^`]*```text\n(.*)\n```/.exec(guide) ?? [];
  const input = {
    ...decision('one'),
    pool: { kind: 'NodePool', name: 'default' },
    instanceType: 'm6g.4xlarge',
    zone: 'us-west-2a',
    priceMicrosPerHour: 616_000,
  };
  const { stdout, error } = spawnSync('jq', ['-c', filter], {
    input: JSON.stringify(input),
    encoding: 'utf8',
  });
  if (error !== undefined)
    return void process.stdout.write(`LEFT OUT: the line of jq: ${error.message}\n`);
  expect(stdout).toBe(`${shown}\n`);
});
