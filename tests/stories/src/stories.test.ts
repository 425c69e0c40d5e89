import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { play } from './story-stage.js';
import { parseTranscript, renderTranscript } from './transcript.js';

const folder = join(import.meta.dirname, '..');
const rewrite = process.env['STORIES_REWRITE'] !== undefined;
const stories = readdirSync(folder).filter((file) => file.endsWith('.txt'));

describe('a story', () => {
  test.each(stories)('%s happens as it is written', async (file) => {
    const path = join(folder, file);
    const written = readFileSync(path, 'utf8');
    const happened = renderTranscript(await play(parseTranscript(written)));
    // A reviewer reads the difference. `npm run rewrite -w @dovetail/stories` writes the present
    // output.
    if (rewrite) writeFileSync(path, happened);
    else expect(happened).toBe(written);
  });
});
