import { describe, expect, test } from 'vitest';

import { followFrames, type StreamListener } from './frame-link.js';

/** A browser of a test: sources that were opened, and timers that the test lets pass. */
class Browser {
  readonly sources: (StreamListener & { closed: boolean })[] = [];
  readonly states: string[] = [];
  readonly frames: unknown[] = [];
  readonly end: () => void;
  #isSeen: boolean;
  #look: () => void = () => undefined;
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly act: () => void }[] = [];

  constructor({ isSeen = true } = {}) {
    this.#isSeen = isSeen;
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
    const onSight = (act: () => void) => {
      this.#look = act;
      return () => void (this.#look = () => undefined);
    };
    this.end = followFrames(
      { open, after, isSeen: () => this.#isSeen, onSight },
      {
        onFrame: (frame) => this.frames.push(frame),
        onState: (state) => this.states.push(state.kind === 'refused' ? state.why : state.kind),
      },
    );
  }

  see(isSeen: boolean): void {
    this.#isSeen = isSeen;
    this.#look();
  }

  get opened(): number {
    return this.sources.filter(({ closed }) => !closed).length;
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

  test('that is refused says why, and asks again five seconds later', () => {
    const browser = new Browser();
    browser.sources.at(-1)?.onBroken('50 pages are open');
    expect(browser.states.at(-1)).toBe('50 pages are open');
    browser.pass(4_999);
    expect(browser.sources).toHaveLength(1);
    browser.pass(1);
    browser.say({});
    expect(browser.states.at(-1)).toBe('open');
  });

  test('of a page that is hidden for less than five seconds stays open', () => {
    const browser = new Browser();
    browser.say({});
    browser.see(false);
    browser.pass(4_999);
    browser.see(true);
    browser.pass(5_000);
    expect([browser.sources.length, browser.opened, browser.states.at(-1)]).toEqual([1, 1, 'open']);
  });

  test.each([
    ['open', (browser: Browser) => browser.say({})],
    ['lost', (browser: Browser) => browser.sources.at(-1)?.onBroken()],
    ['refused', (browser: Browser) => browser.sources.at(-1)?.onBroken('full')],
  ] as const)(
    'that is %s is given back by a page that stays hidden, and taken again',
    (_, before) => {
      const browser = new Browser();
      before(browser);
      browser.see(false);
      browser.pass(4_999);
      browser.pass(1);
      expect([browser.opened, browser.states.at(-1)]).toEqual([0, 'resting']);
      const count = browser.sources.length;
      browser.pass(600_000);
      expect(browser.sources).toHaveLength(count);
      browser.see(true);
      expect([browser.opened, browser.states.at(-1)]).toEqual([1, 'connecting']);
    },
  );

  test('of a page that is opened behind others is given back, too', () => {
    const browser = new Browser({ isSeen: false });
    browser.say({});
    browser.pass(5_000);
    expect([browser.opened, browser.states.at(-1)]).toEqual([0, 'resting']);
  });

  test('that is ended is not taken again', () => {
    const browser = new Browser();
    browser.see(false);
    browser.pass(5_000);
    browser.end();
    browser.see(true);
    expect(browser.sources).toHaveLength(1);
  });
});
