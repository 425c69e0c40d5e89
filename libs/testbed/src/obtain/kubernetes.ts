import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { findOnPath, run } from '../process/run.js';
import { installOnce } from './cache.js';
import { goModText, toolsGoText } from './go-module.js';
import type { ObtainSettings } from './obtained.js';
import { versionOf } from './versions.js';

/** The Kubernetes release that the control plane is built from by default. */
export const kubernetesVersionDefault = '1.34.3';

const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
// Kubernetes' module requires etcd's server for its tests, so the etcd that it was tested with
// comes along. The older etcds of distributions distort measurements: below 3.5.13 the apiserver
// turns off lists from its cache and streamed lists.
const packages = [
  ...programs.map((name) => `k8s.io/kubernetes/cmd/${name}`),
  'go.etcd.io/etcd/server/v3',
];
const buildDeadlineMs = 30 * 60_000;
const fetchDeadlineMs = 10 * 60_000;
const remedy =
  'install Go 1.24 or later, make its module proxy reachable, and free 5 GB of disk; then try again';
// These override the user's Go settings. The programs are static, so they still run after an
// upgrade of the system's libraries.
const goEnv = { CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=mod', GO111MODULE: 'on' } as const;

type Log = (line: string) => void;

/**
 * Returns the folder of etcd and the three Kubernetes programs, and builds them from their Go
 * modules when missing.
 */
export async function installKubernetes(
  version: string,
  settings: ObtainSettings,
): Promise<string> {
  return await installOnce({
    ...settings,
    name: `kubernetes-${version}`,
    deadlineMs: buildDeadlineMs,
    isGood: async (folder) => {
      const found = await Promise.all(
        programs.map((name) => versionOf(join(folder, name), ['--version'], /v(\S+)/)),
      );
      return (
        found.every((it) => it === version) &&
        (await etcdVersionOf(join(folder, 'etcd'))) !== undefined
      );
    },
    fill: (draft) => buildInto(draft, version, settings.log),
  });
}

/** Returns the version of an etcd, or undefined if it does not run. */
export const etcdVersionOf = (path: string): Promise<string | undefined> =>
  versionOf(path, ['--version'], /etcd Version: (\S+)/);

async function buildInto(folder: string, version: string, log: Log): Promise<void> {
  if ((await findOnPath('go')) === undefined) {
    throw new TestbedError({
      failed: `Kubernetes ${version} is built from its Go module, and there is no go on PATH`,
      remedy,
    });
  }
  const source = await mkdtemp(join(tmpdir(), 'dovetail-kubernetes-'));
  try {
    log(`Kubernetes ${version}: fetching its Go module`);
    await writeFile(join(source, 'go.mod'), await goModOf(source, version));
    await writeFile(join(source, 'tools.go'), toolsGoText(packages));
    await run('go', ['mod', 'tidy'], {
      cwd: source,
      env: goEnv,
      deadlineMs: fetchDeadlineMs,
      remedy,
    });
    await compile({ source, folder, version, log });
  } finally {
    await rm(source, { recursive: true, force: true });
  }
}

type GoMod = {
  readonly Go: string;
  readonly Require: readonly { readonly Path: string; readonly Version: string }[];
};

/** Fetches Kubernetes' module and writes the module that requires it. */
async function goModOf(source: string, version: string): Promise<string> {
  const command = { cwd: source, env: goEnv, deadlineMs: fetchDeadlineMs, remedy };
  const fetched = await run(
    'go',
    ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`],
    command,
  );
  const { GoMod: goModFile } = JSON.parse(fetched.stdout) as { readonly GoMod: string };
  const parsed = await run('go', ['mod', 'edit', '-json', goModFile], command);
  const goMod = JSON.parse(parsed.stdout) as GoMod;
  const staged = goMod.Require.filter((required) => required.Version === 'v0.0.0').map(
    (required) => required.Path,
  );
  return goModText({ go: goMod.Go, kubernetes: version, staged });
}

type Build = {
  readonly source: string;
  readonly folder: string;
  readonly version: string;
  readonly log: Log;
};

async function compile({ source, folder, version, log }: Build): Promise<void> {
  const command = { cwd: source, env: goEnv, deadlineMs: buildDeadlineMs, remedy };
  const { stdout } = await run('go', ['list', '-deps', ...packages], command);
  const total = stdout.trim().split('\n').length;
  log(
    `Kubernetes ${version}: compiling etcd, ${programs.join(', ')} (about 5 minutes on 2 cores, once)`,
  );
  const args = [
    'build',
    '-v',
    '-trimpath',
    '-buildvcs=false',
    '-ldflags',
    linkerFlags(version),
    '-o',
    `${folder}/`,
  ];
  // -v names each package that is compiled now, not those in the compiler's cache.
  const onLine = progressOf(total, (done) =>
    log(`Kubernetes ${version}: compiled ${done} of at most ${total} packages`),
  );
  await run('nice', ['-n', '10', 'go', ...args, ...packages], { ...command, onLine });
  // Go names a program after the last word of its package.
  await rename(join(folder, 'server'), join(folder, 'etcd'));
}

/** Release builds stamp these. Without them the server reports v0.0.0, and clients misjudge it. */
function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.split('.');
  const stamps = [`gitVersion=v${version}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  return ['-s', '-w', ...stamps.map((stamp) => `-X k8s.io/component-base/version.${stamp}`)].join(
    ' ',
  );
}

function progressOf(total: number, report: (done: number) => void): () => void {
  const step = Math.ceil(total / 10);
  let done = 0;
  return () => {
    done += 1;
    if (done % step === 0) report(done);
  };
}
