import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { waitFor } from '@dovetail/testbed';
import { afterAll, describe, expect, test } from 'vitest';

/**
 * Assembles the image without a container engine, unpacks it, and runs every service from there, as
 * the image's own user and with nothing of this machine in reach.
 */
const root = join(import.meta.dirname, '..', '..');
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-oci-'));
const [layout, amd64, arm64] = ['layout', 'amd64', 'arm64'].map((name) => join(scratch, name)) as [
  string,
  string,
  string,
];
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Descriptor = {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string };
};
type Manifest = { readonly config: Descriptor; readonly layers: readonly Descriptor[] };
type Config = {
  readonly architecture: string;
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly rootfs: { readonly diff_ids: readonly string[] };
};

const blob = (digest: string): Buffer =>
  readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
const json = <T>(descriptor: Descriptor | undefined): T =>
  JSON.parse(String(blob(descriptor?.digest ?? 'none'))) as T;
const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const assembled = spawnSync(
  join(root, 'node_modules/.bin/tsx'),
  [join(root, 'tools/image-layout.ts'), layout],
  { cwd: root, encoding: 'utf8', env: { ...process.env, VERSION: '0.0.0-test' } },
);
/** Why the runtime of the image was not to be had; undefined if it was. */
const unavailable = assembled.status === 69 ? assembled.stderr.trim() : undefined;
const notRoot = process.getuid?.() === 0 ? undefined : 'only root may change the root folder';
const leftOut = (what: string, why: string): void =>
  void process.stderr.write(`LEFT OUT: ${what}, because ${why}\n`);

function images(): readonly Descriptor[] {
  const { manifests: top } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
    readonly manifests: readonly Descriptor[];
  };
  return json<{ readonly manifests: readonly Descriptor[] }>(top[0]).manifests;
}
const manifestOf = (architecture: string): Manifest =>
  json(images().find((each) => each.platform?.architecture === architecture));

function unpack(architecture: string, into: string): void {
  mkdirSync(into);
  for (const { digest } of manifestOf(architecture).layers)
    execFileSync('tar', ['-xpf', '-', '--numeric-owner', '-C', into], {
      input: gunzipSync(blob(digest)),
    });
}

/** A kubeconfig of an API server that is not there. */
const kubeconfig = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'none', user: {} }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  'current-context': 'none',
});

/** The command line of a container of the unpacked image. */
function containerOf(program: string, ...args: readonly string[]): readonly [string, string[]] {
  const { config } = json<Config>(manifestOf('amd64').config);
  const command = [...config.Entrypoint, `/app/${program}.js`, ...args];
  return ['/usr/sbin/chroot', [`--userspec=${config.User}`, amd64, ...command]];
}

function run(...of: Parameters<typeof containerOf>): ReturnType<typeof spawnSync> {
  const [command, args] = containerOf(...of);
  return spawnSync(command, args, { env: {}, encoding: 'utf8' });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Starts a service with neither NATS nor Kubernetes nor AWS in reach. */
async function start(
  service: string,
): Promise<{ readonly child: ChildProcess; readonly url: string; readonly said: () => string }> {
  const port = await freePort();
  const [command, args] = containerOf(service);
  const env = {
    CLUSTER_NAME: 'lab',
    NATS_URL: 'nats://127.0.0.1:1',
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: String(port),
    ...(service === 'solver' ? {} : { KUBECONFIG: '/tmp/kubeconfig' }),
    ...(service === 'sinks'
      ? { SINKS: '{sinks: [{name: audit, webhook: {url: "http://127.0.0.1:1/"}}]}' }
      : {}),
    ...(['launcher', 'reaper'].includes(service)
      ? { AWS_REGION: 'us-west-2', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }
      : {}),
  };
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => (said += String(chunk)));
  return { child, url: `http://127.0.0.1:${port}`, said: () => said };
}

test('the image is assembled, or this machine cannot get its parts', () => {
  if (unavailable !== undefined) return leftOut('the assembled image', unavailable);
  expect(assembled).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('for amd64 and arm64'),
  });
  unpack('amd64', amd64);
  unpack('arm64', arm64);
  writeFileSync(join(amd64, 'tmp/kubeconfig'), kubeconfig);
});

describe('the layout', () => {
  if (unavailable !== undefined) return;

  test('has an image for each architecture, whose digests and sizes are right', () => {
    expect(images().map(({ platform }) => platform)).toEqual([
      { architecture: 'amd64', os: 'linux' },
      { architecture: 'arm64', os: 'linux' },
    ]);
    for (const image of images()) {
      const { config, layers } = json<Manifest>(image);
      for (const { digest, size } of [image, config, ...layers])
        expect([digestOf(blob(digest)), blob(digest).length]).toEqual([digest, size]);
      const { architecture, rootfs } = json<Config>(config);
      expect(architecture).toBe(image.platform?.architecture);
      expect(layers.map(({ digest }) => digestOf(gunzipSync(blob(digest))))).toEqual(
        rootfs.diff_ids,
      );
    }
  });

  test('is configured as the Dockerfile says', () => {
    expect(json<Config>(manifestOf('arm64').config).config).toEqual({
      User: '65532:65532',
      WorkingDir: '/app',
      Entrypoint: ['/nodejs/bin/node'],
      Cmd: ['/app/cli.js', '--help'],
      Labels: {
        'org.opencontainers.image.title': 'Dovetail',
        'org.opencontainers.image.description': 'Launches and retires EC2 nodes for Kubernetes',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': '0.0.0-test',
        'org.opencontainers.image.revision': 'unknown',
      },
    });
  });

  test.each([
    ['amd64', amd64],
    ['arm64', arm64],
  ])('is of Debian 12 for %s, as its list of packages says', (_architecture, folder) =>
    expect(readFileSync(join(folder, 'usr/lib/os-release'), 'utf8').split('\n')).toEqual(
      expect.arrayContaining(['ID=debian', 'VERSION_ID="12"']),
    ),
  );

  test.each([
    ['amd64', amd64, 62, 'lib/x86_64-linux-gnu'],
    ['arm64', arm64, 183, 'lib/aarch64-linux-gnu'],
  ])('has Node.js and the C library for %s', (_architecture, folder, machine, libraries) => {
    const header = Buffer.alloc(20);
    const file = openSync(join(folder, 'nodejs/bin/node'), 'r');
    readSync(file, header, 0, 20, 0);
    closeSync(file);
    expect(header.readUInt16LE(18)).toBe(machine);
    expect(existsSync(join(folder, libraries, 'libc.so.6'))).toBe(true);
  });

  test('lists Node.js and the libraries beside the packages of the bundles', () => {
    const namesIn = (path: string): readonly string[] =>
      (
        JSON.parse(readFileSync(path, 'utf8')) as {
          readonly components: readonly { readonly name: string }[];
        }
      ).components.map(({ name }) => name);
    const around = ['node', 'base-files', 'gcc-12-base', 'libc6', 'libgcc-s1', 'libstdc++6'];
    for (const folder of [amd64, arm64])
      expect(namesIn(join(folder, 'app/sbom.cdx.json'))).toEqual([
        ...namesIn(join(root, 'dist/image/sbom.cdx.json')),
        ...around,
      ]);
  });

  test('has nothing that its user may change but folders of temporary files', () => {
    const changeable = readdirSync(amd64, { recursive: true, encoding: 'utf8' }).filter((path) => {
      const { mode, uid } = lstatSync(join(amd64, path));
      return (mode & 0o170000) !== 0o120000 && ((mode & 0o002) !== 0 || uid === 65532);
    });
    expect(changeable.toSorted()).toEqual(['tmp', 'var/lock', 'var/tmp']);
  });
});

describe('from the unpacked image', () => {
  if (unavailable !== undefined) return;
  if (notRoot !== undefined) {
    test('nothing runs', () => {
      leftOut('running the unpacked image', notRoot);
      expect(notRoot).toContain('root');
    });
    return;
  }

  test.each(['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks', 'cli'])(
    '%s says its version',
    (program) =>
      expect(run(program, '--version')).toMatchObject({
        status: 0,
        stdout: `${program === 'cli' ? '' : `${program} `}0.1.0\n`,
        stderr: '',
      }),
  );

  test.each(['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks'])(
    '%s waits for NATS, alive and not ready, and ends well when it is told to',
    async (service) => {
      const { child, url, said } = await start(service);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const statusOf = (path: string): Promise<number> =>
        fetch(`${url}${path}`).then(
          ({ status }) => status,
          () => 0,
        );
      await waitFor(
        async () => (await statusOf('/healthz')) === 200 && said().includes('nats-un'),
        { what: `${service} to listen`, deadlineMs: 60_000 },
      );
      expect(await statusOf('/readyz')).toBe(503);
      child.kill('SIGTERM');
      expect([await ended, said()]).toEqual([0, expect.stringContaining('nats-unreachable')]);
    },
  );
});
