import { expect, test } from 'vitest';

import { IntentNotes } from './intent-notes.js';

test('notes on intents stay while a claim carries them, and go with their claims', () => {
  const carried = ['0', '7', '9999'];
  const notes = new IntentNotes(() => carried);
  for (let id = 0; id < 10_000; id += 1) notes.add(String(id));
  expect(carried.map((id) => notes.has(id))).toEqual([true, true, true]);
  expect(notes.has('1')).toBe(false);
  expect(notes.size).toBeLessThan(300);
});
