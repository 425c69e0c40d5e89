import { run } from '@dovetail/testbed';
import { type Browser, chromium, type Page } from 'playwright-core';

/** The program: of the variable CHROMIUM, or Debian's. */
const program = (): string => process.env['CHROMIUM'] || 'chromium';

/** Looks of a page wait so long: no test is about the speed of a machine. */
const patienceMs = 600_000;

/** A new page of a browser, which is as patient as the tests are. */
export async function newPage(
  browser: Browser,
  options: Parameters<Browser['newContext']>[0],
): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patienceMs);
  return context.newPage();
}

/**
 * A headless Chromium, if there is one on PATH. Otherwise prints that this is left out, and answers
 * undefined.
 */
export async function browserFor(what: string): Promise<Browser | undefined> {
  const path = await run('sh', ['-c', `command -v "$0"`, program()], {
    deadlineMs: 30_000,
    remedy: 'install chromium',
  }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
  if (path === undefined) {
    process.stdout.write(
      `LEFT OUT: ${what}: no ${program()} on PATH (Debian: apt-get install chromium; or name one in CHROMIUM)\n`,
    );
    return undefined;
  }
  // Containers have no user namespaces for its sandbox, and the pages are our own.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
}
