import { describe, expect, test } from 'vitest';

import { followFrames, type LinkState, type StreamListener } from './frame-link.js';

/** A browser of a test: sources that were opened, and timers that the test lets pass. */
class Browser {
  readonly sources: (StreamListener & { closed: boolean })[] = [];
  readonly states: LinkState[] = [];
  readonly frames: unknown[] = [];
  readonly end: () => void;
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly act: () => void }[] = [];

  constructor() {
    const open = (listener: StreamListener) => {
      const source = { ...listener, closed: false };
      this.sources.push(source);
      return () => void (source.closed = true);
    };
    const after = (ms: number, act: () => void) => {
      const timer = { atMs: this.#nowMs + ms, act };
      this.#timers.push(timer);
      return () => void (this.#timers = this.#timers.filter((one) => one !== timer));
    };
    this.end = followFrames(
      { open, after },
      (frame) => this.frames.push(frame),
      (state) => this.states.push(state),
    );
  }

  say(frame: object): void {
    this.sources.at(-1)?.onText(JSON.stringify(frame));
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.#nowMs);
    for (const { act } of due) act();
  }
}

describe('a link to the console', () => {
  test('is open with the first frame', () => {
    const browser = new Browser();
    expect(browser.states).toEqual(['connecting']);
    browser.say({ kind: 'whole' });
    expect(browser.states.at(-1)).toBe('open');
    expect(browser.frames).toEqual([{ kind: 'whole' }]);
  });

  test('that breaks is opened again two seconds later, and again', () => {
    const browser = new Browser();
    for (const count of [1, 2, 3]) {
      browser.sources.at(-1)?.onBroken();
      expect(browser.states.at(-1)).toBe('lost');
      expect(browser.sources.at(-1)?.closed).toBe(true);
      browser.pass(1_999);
      expect(browser.sources).toHaveLength(count);
      browser.pass(1);
      expect(browser.sources).toHaveLength(count + 1);
    }
    browser.say({});
    expect(browser.states.at(-1)).toBe('open');
  });

  test('that says nothing for 15 seconds counts as lost, though it is open', () => {
    const browser = new Browser();
    browser.say({});
    browser.pass(14_999);
    expect(browser.states.at(-1)).toBe('open');
    browser.say({});
    browser.pass(14_999);
    expect(browser.states.at(-1)).toBe('open');
    browser.pass(1);
    expect(browser.states.at(-1)).toBe('lost');
    browser.pass(2_000);
    expect(browser.sources).toHaveLength(2);
  });

  test('that is ended stays so', () => {
    const browser = new Browser();
    browser.sources.at(-1)?.onBroken();
    browser.end();
    browser.pass(60_000);
    expect(browser.sources).toHaveLength(1);
  });
});
