// Compares the contracts with those of main's newest commit other than this one. Passes if there is
// nothing to compare with.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const git = (...args: readonly string[]) =>
  spawnSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
const resolved = (ref: string): string | undefined => {
  const run = git('rev-parse', '--verify', '--quiet', `${ref}^{commit}`);
  return run.status === 0 ? run.stdout.trim() : undefined;
};

/**
 * The base of the change: the remote's main, else the local one. On main itself, the commit before.
 */
function base(): string | undefined {
  const head = resolved('HEAD');
  for (const ref of ['origin/main', 'main']) {
    const commit = resolved(ref);
    if (commit === undefined) continue;
    return commit === head && git('status', '--porcelain', '--', 'proto').stdout === ''
      ? resolved('HEAD~1')
      : commit;
  }
  return undefined;
}

function compareWith(commit: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'dovetail-proto-'));
  try {
    const archive = join(folder, 'proto.tar');
    const made = git('archive', '--format=tar', `--output=${archive}`, commit, 'proto');
    if (made.status !== 0) throw new Error(made.stderr);
    const run = spawnSync('buf', ['breaking', 'proto', '--against', `${archive}#subdir=proto`], {
      stdio: 'inherit',
    });
    if (run.error) throw run.error;
    return run.status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const commit = base();
const earlier =
  commit !== undefined &&
  git('ls-tree', '-r', '--name-only', commit, 'proto/dovetail').stdout.trim() !== '';
if (commit === undefined || !earlier) {
  process.stdout.write('no earlier contracts to compare with\n');
} else {
  process.exitCode = compareWith(commit);
  if (process.exitCode === 0) process.stdout.write(`compatible with ${commit.slice(0, 12)}\n`);
}
