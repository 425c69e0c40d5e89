import { expect, test } from 'vitest';

import { story, Timeline } from './timeline.js';

test('a timeline knows which steps of the story are missing, and when each was first seen', () => {
  const lines: string[] = [];
  const timeline = new Timeline((line) => lines.push(line));
  for (const step of story.slice(0, -1)) timeline.say('kubernetes', step, 'it happens');
  timeline.say('launcher', 'admit', 'what is no step of the story is told all the same');
  expect(timeline.missing()).toEqual(['node gone']);
  timeline.say('reaper', 'node gone', 'the last one');
  expect(timeline.missing()).toEqual([]);
  expect(timeline.summary()).toMatch(
    /^pods pending \d+\.\d\d s → batch .* → node gone \d+\.\d\d s$/,
  );
  expect(lines).toHaveLength(story.length + 1);
});

test('a line that is told late has the time at which it happened', () => {
  const lines: string[] = [];
  const timeline = new Timeline((line) => lines.push(line));
  const startedMs = Date.now();
  timeline.say('launcher', 'fleet', 'launched', startedMs + 4_000);
  timeline.say('solver', 'plan', 'planned', startedMs + 2_000);
  expect(lines.map((line) => Math.round(Number(/(\d+\.\d\d) s/.exec(line)?.[1])))).toEqual([4, 2]);
});
