import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import type { NatsBus } from '@dovetail/adapter-nats';
import { type Channel, type Decision, publishDecision } from '@dovetail/contracts';
import { systemClock, systemHash } from '@dovetail/runtime';
import {
  forTests,
  hasOpenssl,
  httpRequest,
  isUnavailable,
  obtainGoProgram,
  obtainNatsCommand,
  obtainNatsServer,
  obtainPythonSubscriber,
  type Program,
  type Unavailable,
  waitFor,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { launchDecision } from './testing/decisions.js';
import { cluster, Guarded } from './testing/guarded.js';

/**
 * The programs of the guide to subscribing, each in its own language, run against a real
 * nats-server with the reader's rights. The guide quotes the files that run here.
 */
type Subscriber = {
  readonly file: string;
  readonly obtain: () => Promise<Program | Unavailable>;
  /** The arguments of what was obtained. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The text that it prints for a launch. */
  readonly prints: (decision: Decision) => string;
};

const root = join(import.meta.dirname, '..', '..', '..');
const node = (): Promise<Program> =>
  Promise.resolve({ path: process.execPath, version: process.version });
const line = ({ summary, priceMicrosPerHour = 0 }: Decision): string =>
  `${summary} ${priceMicrosPerHour / 1e6}`;

const subscribers: readonly Subscriber[] = [
  {
    file: 'examples/subscriber.mjs',
    obtain: node,
    args: ['--import', 'tsx', '--conditions=@dovetail/source', 'examples/subscriber.mjs'],
    prints: line,
  },
  { file: 'examples/decisions.mjs', obtain: node, args: ['examples/decisions.mjs'], prints: line },
  {
    file: 'examples/go/main.go',
    obtain: () => forTests(() => obtainGoProgram(join(root, 'examples', 'go'))),
    args: ['proto'],
    prints: line,
  },
  {
    file: 'examples/decisions.py',
    obtain: () => forTests(obtainPythonSubscriber),
    args: ['examples/decisions.py'],
    env: { PYTHONPATH: 'proto' },
    prints: line,
  },
  {
    file: 'examples/decisions.sh',
    obtain: () => forTests(obtainNatsCommand),
    args: [],
    prints: ({ summary }) => `"summary":"${summary}"`,
  },
];

/** A program that runs, and the lines that it has printed. */
class Running {
  readonly lines: string[] = [];
  readonly errors: string[] = [];
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;

  constructor(child: ChildProcess) {
    this.child = child;
    this.ended = once(child, 'exit');
    for (const [stream, lines] of [
      [child.stdout, this.lines],
      [child.stderr, this.errors],
    ] as const)
      if (stream !== null)
        createInterface({ input: stream }).on('line', (read) => lines.push(read));
  }
}

function started(subscriber: Subscriber, { path }: Program, at: Guarded): Running {
  const isScript = subscriber.file.endsWith('.sh');
  const env = {
    ...process.env,
    ...subscriber.env,
    NATS_URL: at.url,
    NATS_CREDENTIALS: join(at.dir, 'reader.nk'),
    NATS_CA: at.authority,
    CLUSTER_NAME: cluster,
    // For the script: where `nats` and `buf` are, and no settings of who runs this.
    ...(isScript && {
      PATH: `${join(path, '..')}:${join(root, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`,
      XDG_CONFIG_HOME: at.dir,
    }),
  };
  const [command, ...first] = isScript ? ['sh', subscriber.file] : [path];
  return new Running(spawn(command ?? '', [...first, ...subscriber.args], { cwd: root, env }));
}

/** Whether a reader listens to decisions, or to what a stream delivers. */
async function isHeard(at: Guarded): Promise<boolean> {
  const { body } = await httpRequest(`${at.nats.monitorUrl}/connz?subs=1`);
  const { connections } = JSON.parse(body) as {
    readonly connections: readonly { readonly subscriptions_list?: readonly string[] }[];
  };
  const subjects = connections.flatMap(({ subscriptions_list: list = [] }) => list);
  return subjects.some((subject) =>
    /^(dovetail\.lab\.decision|_INBOX_dovetail\.lab\.reader)\./.test(subject),
  );
}

/** Lines of standard error when all is well: of our library, and of asyncio about TLS. */
const isHarmless = /^nats-connected |^returning true from eof_received/;

test('the program of the library says that NATS does not answer, and waits', async () => {
  const [{ args = [] } = {}] = subscribers;
  const env = { ...process.env, NATS_URL: 'nats://127.0.0.1:9', NATS_CREDENTIALS: '', NATS_CA: '' };
  const running = new Running(spawn(process.execPath, args, { cwd: root, env }));
  await waitFor(() => running.errors.length > 0, { what: 'a complaint', deadlineMs: 60_000 });
  expect(running.errors[0]).toMatch(/^nats-unreachable NATS at nats:\/\/127\.0\.0\.1:9 does not/);
  expect([running.lines, running.child.exitCode]).toEqual([[], null]);
  running.child.kill('SIGINT');
  await running.ended;
});

test.each(subscribers)('the guide quotes $file', async ({ file }) => {
  const guide = await readFile(join(root, 'docs', 'guides', 'subscribe.md'), 'utf8');
  // The comment at the top says what the guide says around the program.
  const code = (await readFile(join(root, file), 'utf8')).replace(/^(#!.*\n)?((\/\/|#).*\n)+/, '');
  expect(guide).toContain(`\n${code.trim()}\n\`\`\``);
});

const server = await obtainNatsServer();
if (isUnavailable(server)) {
  test('programs that subscribe are left out', () =>
    console.warn(`LEFT OUT: programs that subscribe: ${server.unavailable}`));
} else {
  if (!hasOpenssl())
    process.stdout.write('LEFT OUT: programs that subscribe by TLS: there is no openssl on PATH\n');
  describe.each([
    ['plainly', false],
    ...(hasOpenssl() ? [['by TLS, with an authority of its own', true] as const] : []),
  ] as const)('a program with the rights of a reader, on NATS that speaks %s,', (_how, tls) => {
    const guarded = new Guarded();
    let bus: NatsBus | undefined;
    let channel: Channel;
    beforeAll(async () => {
      await guarded.start(server.path, { tls });
      const launcher = guarded.service('launcher');
      bus = launcher;
      await guarded.makeStreams();
      channel = { bus, cluster, source: 'launcher', clock: systemClock, hash: systemHash };
    });
    afterAll(async () => {
      await bus?.close();
      await guarded.stop();
    });

    test.each(subscribers)('prints each launch: $file', async (subscriber) => {
      const program = await subscriber.obtain();
      if (isUnavailable(program))
        return void process.stdout.write(`LEFT OUT: ${subscriber.file}: ${program.unavailable}\n`);
      const running = started(subscriber, program, guarded);
      await waitFor(() => isHeard(guarded), {
        what: `${subscriber.file} to subscribe; it said ${running.errors.join('\n')}`,
        deadlineMs: 60_000,
      });
      const decision = launchDecision(subscriber.file);
      await publishDecision(channel, decision);
      const expected = subscriber.prints(decision);
      await waitFor(() => running.lines.some((read) => read.includes(expected)), {
        what: `${subscriber.file} to print "${expected}"`,
        deadlineMs: 60_000,
      });
      running.child.kill('SIGINT');
      await running.ended;
      // The command of NATS has no exit code, because the signal itself ends it.
      const errors = running.errors.filter((said) => !isHarmless.test(said));
      expect([errors, running.child.exitCode ?? 0]).toEqual([[], 0]);
      // The next one has not subscribed before the server has forgotten this one.
      await waitFor(async () => !(await isHeard(guarded)), {
        what: `the server to forget ${subscriber.file}`,
        deadlineMs: 60_000,
      });
    });
  });
}
