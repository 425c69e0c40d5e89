import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { findOnPath, run } from '../process/run.js';
import { goModText, toolsGoText } from './go-module.js';

/** Programs to build from a Go module. */
export type GoBuild = {
  /** The program in progress lines: `Kubernetes 1.34.3`. */
  readonly title: string;
  readonly module: { readonly path: string; readonly version: string };
  readonly packages: readonly string[];
  /** Values for the linker's -X, beside the flags that strip the programs. */
  readonly stamps?: readonly string[];
  /** Versions for modules that the required one leaves to be replaced. */
  readonly replaces?: (requires: readonly GoRequirement[]) => Readonly<Record<string, string>>;
  /**
   * The Go that builds them, such as `go1.26.10`, if it must be a newer one than that on PATH. That
   * one then fetches it from the module proxy.
   */
  readonly toolchain?: string;
  /** The programs and the time that they take, for the progress line. */
  readonly effort: string;
  readonly remedy: string;
  readonly log: (line: string) => void;
};

/** A module that a go.mod requires. */
type GoRequirement = { readonly Path: string; readonly Version: string };

type GoMod = { readonly Go: string; readonly Require: readonly GoRequirement[] };

const buildDeadlineMs = 30 * 60_000;
const fetchDeadlineMs = 10 * 60_000;
// These override the user's Go settings. The programs are static, so they still run after an
// upgrade of the system's libraries.
const goEnv = { CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=mod', GO111MODULE: 'on' } as const;

const envOf = ({ toolchain }: GoBuild): Readonly<Record<string, string>> => ({
  ...goEnv,
  ...(toolchain === undefined ? {} : { GOTOOLCHAIN: toolchain }),
});

/**
 * Builds the programs into a folder. Returns the folder of the module's own files. Throws
 * TestbedError without Go.
 */
export async function buildGo(build: GoBuild, folder: string): Promise<string> {
  const { title, remedy, packages } = build;
  if ((await findOnPath('go')) === undefined)
    throw new TestbedError({
      failed: `${title} is built from its Go module, and there is no go on PATH`,
      remedy,
    });
  const source = await mkdtemp(join(tmpdir(), 'dovetail-go-'));
  try {
    build.log(`${title}: fetching its Go module`);
    const { goModFile, moduleFolder } = await fetchModule(build, source);
    await writeFile(join(source, 'go.mod'), await goModOf(build, source, goModFile));
    await writeFile(join(source, 'tools.go'), toolsGoText(packages));
    const command = { cwd: source, env: envOf(build), deadlineMs: fetchDeadlineMs, remedy };
    // -e: a module that only the tests of a package need may be missing. The build names any other.
    await run('go', ['mod', 'tidy', '-e'], command);
    await compile(build, source, folder);
    return moduleFolder;
  } finally {
    await rm(source, { recursive: true, force: true });
  }
}

async function fetchModule(
  build: GoBuild,
  source: string,
): Promise<{ readonly goModFile: string; readonly moduleFolder: string }> {
  const { module, remedy } = build;
  const command = { cwd: source, env: envOf(build), deadlineMs: fetchDeadlineMs, remedy };
  const named = `${module.path}@${module.version}`;
  const { stdout } = await run('go', ['mod', 'download', '-json', named], command);
  const { GoMod: goModFile, Dir: moduleFolder } = JSON.parse(stdout) as {
    readonly GoMod: string;
    readonly Dir: string;
  };
  return { goModFile, moduleFolder };
}

async function goModOf(build: GoBuild, source: string, goModFile: string): Promise<string> {
  const { module, replaces, remedy } = build;
  const command = { cwd: source, env: envOf(build), deadlineMs: fetchDeadlineMs, remedy };
  const parsed = await run('go', ['mod', 'edit', '-json', goModFile], command);
  const goMod = JSON.parse(parsed.stdout) as GoMod;
  return goModText({ go: goMod.Go, requires: module, replaces: replaces?.(goMod.Require) ?? {} });
}

async function compile(build: GoBuild, source: string, folder: string): Promise<void> {
  const { title, packages, remedy, stamps = [], log } = build;
  const command = { cwd: source, env: envOf(build), deadlineMs: buildDeadlineMs, remedy };
  const { stdout } = await run('go', ['list', '-deps', ...packages], command);
  const total = stdout.trim().split('\n').length;
  log(`${title}: compiling ${build.effort}`);
  const linked = ['-s', '-w', ...stamps.map((stamp) => `-X ${stamp}`)].join(' ');
  const flags = ['-v', '-trimpath', '-buildvcs=false', '-ldflags', linked, '-o', `${folder}/`];
  // -v names each package that is compiled now, not those in the compiler's cache.
  const onLine = progressOf(total, (done) =>
    log(`${title}: compiled ${done} of at most ${total} packages`),
  );
  await run('nice', ['-n', '10', 'go', 'build', ...flags, ...packages], { ...command, onLine });
}

function progressOf(total: number, report: (done: number) => void): () => void {
  const step = Math.ceil(total / 10);
  let done = 0;
  return () => {
    done += 1;
    if (done % step === 0) report(done);
  };
}
