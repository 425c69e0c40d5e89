import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';

/** A thread that answers a program at once; after the second it is busy and takes long to end. */
const thread = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id }) => {
    const solution = { status: 'stopped', bound: 0, columns: [], rowDuals: [] };
    parentPort.postMessage({ id, solution });
    if (id < 1) return;
    const numbers = new Float64Array(1e6);
    for (;;) numbers.map(() => Math.random()).sort();
  });
`;

const [bundle] = buildSync({
  entryPoints: [join(import.meta.dirname, 'highs-solver.ts')],
  bundle: true,
  platform: 'node',
  format: 'esm',
  write: false,
}).outputFiles;
const compiled = bundle?.text ?? '';
const urlOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Runs statements in a process of their own, whose solver has that thread. */
function run(statements: string): { readonly status: number | null; readonly stdout: string } {
  const script = `
    import { highsSolver } from ${JSON.stringify(urlOf(compiled))};
    const solver = highsSolver({ threadFile: new URL(${JSON.stringify(urlOf(thread))}) });
    const none = new Float64Array(0);
    const solved = () => solver.solve({
      cost: none, columnLower: none, columnUpper: none, rowLower: none, rowUpper: none,
      starts: new Int32Array(1), indices: new Int32Array(0), values: none,
    }, { timeMsMax: 1 });
    const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    ${statements}
    process.stdout.write('went on');
  `;
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { encoding: 'utf8', timeout: 120_000 },
  );
  return { status, stdout };
}

test.each([
  ['that was given nothing', 'solver.start(); await solver.close();'],
  ['that has answered', 'await solved(); await solver.close();'],
  [
    'whose answer comes while it is being ended',
    'await solved(); solved().catch(() => undefined); block(500); await solver.close();',
  ],
])('a process that awaits the end of a thread %s goes on after it', (_name, statements) =>
  expect(run(statements)).toEqual({ status: 0, stdout: 'went on' }),
);

test.each([
  ['was given nothing', 'solver.start();'],
  ['has answered', 'await solved();'],
])('a thread that %s keeps no process alive', (_name, statements) =>
  expect(run(statements)).toEqual({ status: 0, stdout: 'went on' }),
);
