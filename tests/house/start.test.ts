import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const lab = 'libs/testbed/src/lab';

/**
 * The first stack trace under this flag parses the whole source map of a bundle: up to 190 MB and
 * half a second in which the service does nothing else.
 */
const flag = '--enable-source-maps';

describe('services run without parsed source maps', () => {
  test.each([
    ...readdirSync(join(root, 'apps')).map((app) => `apps/${app}/package.json`),
    ...readdirSync(join(root, lab)).map((file) => `${lab}/${file}`),
    'deploy/docker/Dockerfile',
  ])('when %s starts them', (file) => {
    expect(readFileSync(join(root, file), 'utf8')).not.toContain(flag);
  });
});
