import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Ended, ranCommand } from '@dovetail/test-support/command';
import { schemaFaults } from '@dovetail/test-support/schemas';
import { isUnavailable, obtainKubectl, run, waitFor } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Tests `make demo`, `make lab` and `make lab-down` in a folder of their own. */
const root = join(import.meta.dirname, '..', '..');
const steps = [
  'pods pending',
  'batch',
  'plan',
  'fleet',
  'node ready',
  'pods running',
  'scaled down',
  'node gone',
];

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dovetail-lab-'));
});
afterAll(async () => {
  await program('lab', ['down']);
  await rm(folder, { recursive: true, force: true });
});

const program = (
  name: 'lab' | 'cli',
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> => ranCommand({ name, folder, args, env });

function firstLine(reader: ChildProcessWithoutNullStreams): Promise<string> {
  let [text, said] = ['', ''];
  reader.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  return new Promise((resolve, reject) => {
    reader.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.split('\n', 1)[0] ?? '');
    });
    reader.on('close', () => reject(new Error(`nothing was read: ${text}${said}`)));
  });
}

let extra = 0;
/** Makes a node necessary, by a pod that leaves no room for another on its node. */
async function anotherNode(
  kubectl: (...args: readonly string[]) => Promise<string>,
): Promise<void> {
  extra += 1;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `extra-${extra}` },
    spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '7' } } }] },
  };
  await writeFile(join(folder, 'pod.json'), JSON.stringify(pod));
  await kubectl('apply', '-f', join(folder, 'pod.json'));
}

describe('the demo', () => {
  let demo: Ended;
  const told = (step: string): string =>
    demo.output
      .split('\n')
      .find((line) => new RegExp(`^ *[0-9.]+ s +[a-z-]+ +${step} `).test(line)) ?? '';
  beforeAll(async () => {
    demo = await program('lab', ['demo']);
  });

  test('ends with 0 and says first which parts are real and which are twins', () => {
    expect(demo.code).toBe(0);
    const head = demo.output.split('\n').slice(0, 5).join('\n');
    expect(head).toMatch(/nats-server [0-9.]+: real/);
    expect(head).toMatch(/Kubernetes: twin/);
    expect(head).toMatch(/EC2, SQS, SSM, Pricing, IAM, EKS and kubelets: twin/);
    expect(head).toMatch(/services: pod-watcher, solver-0, launcher, reaper: real, a process each/);
  });
  test.each(steps.map((step) => [step]))('shows "%s" with its time', (step) =>
    expect(told(step)).not.toBe(''),
  );
  test('tells the story in its order', () => {
    const [summary = ''] = demo.output
      .split('\n')
      .filter((line) => line.startsWith('pods pending '));
    const seen = summary.split(' → ').map((part) => /^(.*) ([0-9.]+) s$/.exec(part) ?? []);
    expect(seen.map(([, step]) => step)).toEqual(steps);
    // Pending pods are seen by looking again and again, so the batch may be a moment older.
    const [pending = Number.NaN, ...seconds] = seen.map(([, , text]) => Number(text));
    expect(seconds).toEqual(seconds.toSorted((a, b) => a - b));
    expect(pending).toBeLessThan(seconds[steps.indexOf('pods running') - 1] ?? 0);
  });
  test('ends with a picture of the nodes at their fullest, and says where it is live', () => {
    const [, end = ''] = demo.output.split('At its fullest, as the console draws it:\n');
    expect(end).toMatch(/^\d nodes? · \$\d\.\d{4}\/h · CPU \d+ % · memory \d+ %\n/);
    expect(end).toMatch(/\n  [a-z0-9.-]+ +us-west-2[a-d] +on-demand +CPU █+░* +\d+ %/);
    expect(end).toContain('the page whose address make lab prints');
  });
  test('names types, prices and reasons', () => {
    expect(told('plan')).toMatch(/[a-z0-9]+\.[a-z0-9]+.* · \$[0-9.]+\/h .*pool-chosen: /);
    expect(told('fleet')).toMatch(
      /launched [a-z0-9]+\.[a-z0-9-]+ on-demand in us-west-2.* · \$[0-9.]+\/h/,
    );
    expect(told('node gone')).toMatch(/\(empty\)/);
  });
});

describe('the lab that is left running, of another name, in another region, with three solvers', () => {
  let up: Ended;
  let kubectl: (...args: readonly string[]) => Promise<string>;
  beforeAll(async () => {
    up = await program('lab', ['up'], { REGION: 'eu-west-1', SOLVERS: '3', CLUSTER_NAME: 'play' });
    const found = await obtainKubectl();
    if (isUnavailable(found)) throw new Error(found.unavailable);
    kubectl = async (...args) =>
      (
        await run(found.path, ['--kubeconfig', join(folder, '.lab', 'kubeconfig'), ...args], {
          deadlineMs: 90_000,
          remedy: 'read its output',
        })
      ).stdout;
  });

  test('is ready when the command returns, and says what to try', async () => {
    expect(up).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /solver-0, solver-1, solver-2.*\n[^]*Try:\n[^]*kubectl apply -f \.lab\/inflate\.yaml\n[^]*make lab-down/,
      ),
    });
    expect(up.output).toContain(await readFile(join(folder, '.lab', 'ready'), 'utf8'));
  });
  test('prints the address of the console, which serves its page there', async () => {
    const [, url = ''] = /^ {2}console: (http:\S+)$/m.exec(up.output) ?? [];
    expect(up.output).toContain(`# the cluster on a page, live: ${url}\n`);
    expect(await (await fetch(url)).text()).toContain('<title>Dovetail console</title>');
  });
  test('works as it says: nodes of that region run the pods', async () => {
    await kubectl('apply', '-f', join(folder, '.lab', 'inflate.yaml'));
    await kubectl('wait', 'nodepool/default', '--for=condition=Ready', '--timeout=60s');
    await kubectl('scale', 'deployment/inflate', '--replicas=3');
    await kubectl('rollout', 'status', 'deployment/inflate', '--timeout=60s');
    expect(
      await kubectl(
        'get',
        'nodes',
        '-o',
        'jsonpath={.items[*].metadata.labels.topology\\.kubernetes\\.io/region}',
      ),
    ).toMatch(/^eu-west-1( eu-west-1)*$/);
  });
  test('lets the command show its decisions, as a table and as JSON', async () => {
    const table = await program('cli', ['decisions', '--cluster', 'play']);
    expect(table).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ launch +[a-z]+ +launched [^]* ~?[0-9]+\.[0-9]+/),
    });
    const json = await program('cli', [
      'decisions',
      '--cluster',
      'play',
      '-o',
      'json',
      '--kind',
      'launch',
    ]);
    const decisions = json.output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; zone: string });
    expect(decisions.map(({ kind, zone }) => `${kind} ${zone.slice(0, -1)}`)).toEqual(
      decisions.map(() => 'launch eu-west-1'),
    );
  });
  const aNode = async (): Promise<string> =>
    (await kubectl('get', 'nodes', '-o', 'name')).split('\n', 1)[0]?.replace('node/', '') ?? '';
  const explained = /^[^ ]+ \(NodeClaim default-[0-9a-f]+, NodePool\/default, [^]*\nABOUT +ANSWER /;

  test('explains a node, as the command is typed in its folder', async () =>
    expect(await program('cli', ['explain', 'node', await aNode()])).toMatchObject({
      code: 0,
      output: expect.stringMatching(explained),
    }));
  test('explains a node for programs, in the published form', async () => {
    const { code, output } = await program('cli', ['explain', 'node', await aNode(), '-o', 'json']);
    expect([code, schemaFaults('explain-node', output)]).toEqual([0, []]);
  });
  test.each(['', '.lab/kubeconfig'])(
    'says its status and last rounds with KUBECONFIG=%s',
    async (KUBECONFIG) =>
      expect(await program('cli', ['status', '--cluster', 'play'], { KUBECONFIG })).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^default +\d+ [^]*\nLAST ROUNDS\nWHEN /m),
      }),
  );
  test('explains a node through a cluster, where a pod is the reaper that leads', async () => {
    const typed = ['explain', 'node', await aNode(), '--kubeconfig', '.lab/kubeconfig'];
    expect(await program('cli', typed)).toMatchObject({
      code: 69,
      output: expect.stringMatching(/reaper-[0-9a-f]{8} holds Lease .* no pod kube-system\/reaper/),
    });
    const url = await readFile(join(folder, '.lab', 'reaper-url'), 'utf8');
    const ports = [{ name: 'http', containerPort: Number(new URL(url).port) }];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'reaper', namespace: 'kube-system' },
      spec: { nodeName: 'elsewhere', containers: [{ name: 'main', image: 'reaper', ports }] },
    };
    await writeFile(join(folder, 'reaper.json'), JSON.stringify(pod));
    await kubectl('create', '-f', join(folder, 'reaper.json'));
    const running = [
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"phase":"Running"}}',
    ];
    await kubectl('patch', 'pod', 'reaper', '--namespace=kube-system', ...running);
    expect(await program('cli', typed)).toMatchObject({
      code: 0,
      output: expect.stringMatching(explained),
    });
    await kubectl('delete', 'pod', 'reaper', '--namespace=kube-system', '--force');
  });
  // tests/conformance/bus/programs.test.ts runs all programs of the guide, each by itself.
  test.each([
    ['examples/subscriber.mjs', ['--import', 'tsx', '--conditions=@dovetail/source']],
    ['examples/decisions.mjs', []],
  ])('is read by %s', async (file, flags) => {
    const reader = spawn(process.execPath, [...flags, file], {
      cwd: root,
      env: {
        ...process.env,
        CLUSTER_NAME: 'play',
        NATS_URL: await readFile(join(folder, '.lab', 'nats-url'), 'utf8'),
      },
    });
    let line: string | undefined;
    void firstLine(reader).then(
      (read) => {
        line = read;
      },
      () => undefined,
    );
    // A plain subscriber receives only decisions that are published after it has subscribed.
    await waitFor(async () => line !== undefined || (await anotherNode(kubectl), false), {
      what: `${file} to read a launch`,
      deadlineMs: 60_000,
      everyMs: 3_000,
    });
    reader.kill('SIGINT');
    expect(line).toMatch(
      /^launched [a-z0-9]+\.[a-z0-9-]+ on-demand in eu-west-1[abc] for default-[0-9a-f]+ [0-9.]+$/,
    );
    expect(await new Promise((resolve) => reader.on('close', resolve))).toBe(0);
  });
  test('is not started twice', async () =>
    expect(await program('lab', ['up'])).toMatchObject({
      code: 1,
      output: expect.stringContaining('a lab is running already'),
    }));
  test('ends when it is told to, and is not ready any more', async () => {
    expect(await program('lab', ['down'])).toMatchObject({
      code: 0,
      output: expect.stringContaining('the lab has ended'),
    });
    expect(existsSync(join(folder, '.lab', 'ready'))).toBe(false);
    await expect(kubectl('get', 'nodes', '--request-timeout=2s')).rejects.toThrow();
  });
  test.each([
    [{ SOLVERS: 'many' }, /^SOLVERS is many\nRemedy: give .* 1 to 20\n$/],
    [{ REGION: 'mars-1' }, /^REGION is mars-1\nRemedy: give a region .*, us-west-2.*\n$/],
    [{ CLUSTER_NAME: 'a b' }, /^CLUSTER_NAME is a b\nRemedy: give up to 100 letters.*\n$/],
  ])('says in two lines what is wrong with the settings %j', async (env, output) =>
    expect(await program('lab', ['up'], env)).toMatchObject({
      code: 1,
      output: expect.stringMatching(output),
    }),
  );
  test('names a command that it has not got', async () =>
    expect(await program('lab', ['foo'])).toEqual({
      code: 64,
      output: 'lab has no command foo; lab --help lists them\n',
    }));
});
