// Typechecks one project: its sources under their own (perhaps pure) settings, then its tests under Node's.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const [project] = process.argv.slice(2);
const compiler = join('node_modules', 'typescript7', 'bin', 'tsc');
let failed = false;
for (const config of ['tsconfig.json', 'tsconfig.test.json']) {
  const path = join(project, config);
  if (!existsSync(path)) continue;
  const run = spawnSync(process.execPath, [compiler, '--noEmit', '-p', path], { stdio: 'inherit' });
  failed ||= run.status !== 0;
}
process.exitCode = failed ? 1 : 0;
