import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/** A bundle stands in dist, so a path from a source file's own folder leads nowhere there. */
const dist = join(import.meta.dirname, '..', '..', 'dist');
const opened = /new URL\(\s*["'](\.[^"']+)["'],\s*import\.meta\.url\s*\)/g;
// The sources keep HiGHS' thread in gen/, and the SDK of traces under its own name. A bundle has
// both beside itself and asks there first.
const allowed = ['.', '../gen/highs-thread.mjs', './otel.js'];

describe.each(readdirSync(dist).filter((file) => /\.m?js$/.test(file)))('dist/%s', (file) => {
  test('opens only files that exist in dist', () => {
    // Long lines are broken within their texts, too.
    const text = readFileSync(join(dist, file), 'utf8').replaceAll('\\\n', '');
    const paths = [...text.matchAll(opened)].map(([, path = '']) => path);
    expect(
      paths.filter((path) => !allowed.includes(path) && !existsSync(join(dist, path))),
    ).toEqual([]);
  });
});

test.each(['pod-watcher', 'solver', 'solver-worker', 'launcher', 'reaper'])(
  "dist/%s.js is ASCII, so that its source takes one byte a character of the service's memory",
  (name) => {
    const text = readFileSync(join(dist, `${name}.js`), 'utf8');
    expect([...text].filter((letter) => letter > '\u007f')).toEqual([]);
  },
);

test.each(['pod-watcher', 'solver', 'solver-worker', 'launcher', 'reaper'])(
  'dist/%s.js is without the SDK of traces, which is loaded once it is wanted',
  (name) => {
    const sdk = 'BatchSpanProcessor';
    expect(readFileSync(join(dist, 'traces.mjs'), 'utf8')).toContain(sdk);
    expect(readFileSync(join(dist, `${name}.js`), 'utf8')).not.toContain(sdk);
  },
);
