import { createHash } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { plan } from '../planner.js';
import { nodeOf } from '../testing/objects.js';
import { mixedWorld } from '../testing/worlds.js';
import { NotedAnswers } from './answers.js';
import { PartWriter } from './parts.js';
import { partsOfRecord, planAgain, readRecord, type Recorded, writtenRecord } from './record.js';
import { sketchOf } from './sketch.js';

const hash = { sha256Hex: (text: string) => createHash('sha256').update(text).digest('hex') };

/** Keeps parts as a stream would. */
class Kept {
  readonly texts = new Map<string, string>();
  readonly writer = new PartWriter(hash, (id) => this.texts.has(id));

  /** Writes an input. Returns its text and the number of parts that came. */
  write(recorded: Recorded): { readonly text: string; readonly fresh: number } {
    const parts = writtenRecord(recorded, this.writer);
    let fresh = 0;
    for (;;) {
      const { done, value } = parts.next();
      if (done === true) return { text: value, fresh };
      if (value === undefined) continue;
      this.texts.set(value.id, value.text);
      fresh += 1;
    }
  }

  read(text: string): Recorded | undefined {
    return readRecord(text, (id) => this.texts.get(id));
  }
}

/** A world of this seed, planned until it was told to stop at the n-th question. */
function ended(seed: number, askedMax: number) {
  const { snapshot, pods, options } = mixedWorld(seed);
  let asked = 0;
  const noted = new NotedAnswers(() => (asked += 1) > askedMax);
  const rules = { ...options, stepsMax: 50 };
  const made = plan(snapshot, pods, { ...rules, shouldStop: noted.shouldStop });
  const input = { snapshot, pods, options: rules, answers: noted.answers };
  return { made, recorded: { input, made: sketchOf(made) } };
}

describe('a plan that was recorded', () => {
  test.each([1, 2].map((block) => [block * 8 - 7, block * 8] as const))(
    'is made again to the byte, whenever the clock ended it (seeds %i to %i)',
    (from, to) => {
      for (let seed = from; seed <= to; seed += 1) {
        const { made, recorded } = ended(seed, seed % 23);
        const kept = new Kept();
        const again = kept.read(kept.write(recorded).text);
        expect(again).toEqual(recorded);
        expect(again && JSON.stringify(planAgain(again.input))).toBe(JSON.stringify(made));
      }
    },
  );

  test('is written once: the same input adds no part, and a node more adds its own', () => {
    const { recorded } = ended(7, 5);
    const kept = new Kept();
    const first = kept.write(recorded);
    expect(first.fresh).toBeGreaterThan(0);
    expect(kept.write(recorded)).toEqual({ text: first.text, fresh: 0 });
    const { snapshot } = recorded.input;
    const nodes = [...snapshot.nodes, nodeOf('another')];
    const more = kept.write({
      ...recorded,
      input: { ...recorded.input, snapshot: { ...snapshot, nodes } },
    });
    expect(more.fresh).toBe(1);
  });

  test('is written again when its parts are not kept any more', () => {
    const { recorded } = ended(8, 5);
    const kept = new Kept();
    const { text, fresh } = kept.write(recorded);
    kept.texts.clear();
    expect(kept.read(text)).toBeUndefined();
    expect(kept.write(recorded)).toEqual({ text, fresh });
    expect(kept.read(text)).toEqual(recorded);
  });

  test('names its parts, each of which is needed', () => {
    const { recorded } = ended(9, 5);
    const kept = new Kept();
    const { text } = kept.write(recorded);
    const ids = partsOfRecord(text) ?? [];
    expect(new Set(ids)).toEqual(new Set(kept.texts.keys()));
    for (const id of ids) {
      const without = readRecord(text, (one) => (one === id ? undefined : kept.texts.get(one)));
      expect(without).toBeUndefined();
    }
  });

  test('of another form is not read', () => {
    const text = JSON.stringify({ form: 0 });
    expect([partsOfRecord(text), readRecord(text, () => '')]).toEqual([undefined, undefined]);
  });
});
