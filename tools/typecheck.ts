// Typechecks one project: its sources under their own (perhaps pure) settings, its tests under
// Node's, and its page under the browser's.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const project = process.argv[2] ?? '.';
// TypeScript 7 checks a project in a second or two; typescript-eslint still needs the API of 6.
const compiler = join('node_modules', 'typescript7', 'bin', 'tsc');
const failed = ['tsconfig.json', 'tsconfig.test.json', 'page/tsconfig.json']
  .map((config) => join(project, config))
  .filter((path) => existsSync(path))
  .map((path) =>
    spawnSync(process.execPath, [compiler, '--noEmit', '-p', path], { stdio: 'inherit' }),
  )
  .some((run) => run.status !== 0);
process.exitCode = failed ? 1 : 0;
