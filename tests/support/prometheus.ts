import { spawn } from 'node:child_process';

import { run } from '@dovetail/testbed';

/** Says that tests are left out, and why. */
function leftOut(what: string, why: string): undefined {
  process.stdout.write(`LEFT OUT: ${what}: ${why}\n`);
}

/**
 * The name of a program of Prometheus, if it is on PATH. Otherwise prints that this is left out,
 * and answers undefined.
 */
export async function prometheusFor(
  program: 'prometheus' | 'promtool',
  what: string,
): Promise<string | undefined> {
  return run(program, ['--version'], { deadlineMs: 30_000, remedy: 'run it by hand' }).then(
    () => program,
    () => leftOut(what, `no ${program} on PATH (Debian: the package prometheus)`),
  );
}

/**
 * The complaints of `promtool check metrics` about a page in Prometheus' text format, one a line;
 * none if it is clean. A page that cannot be parsed is a complaint, too.
 */
export async function metricsComplaints(
  promtool: string,
  page: string,
): Promise<readonly string[]> {
  const child = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  child.stdin.end(page);
  const code = await new Promise((resolve) => child.on('close', resolve));
  const lines = output.split('\n').filter((line) => line !== '');
  return code === 0 || lines.length > 0 ? lines : [`promtool ended with ${String(code)}`];
}
