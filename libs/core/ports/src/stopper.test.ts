import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { neverStopping, Stopper } from './stopper.js';

fc.configureGlobal({ seed: 1 });

describe('a stopper', () => {
  test('that was not raised calls no listener', () => {
    const heard: string[] = [];
    const stop = new Stopper();
    stop.addEventListener('abort', () => heard.push('a'));
    expect([stop.aborted, heard]).toEqual([false, []]);
  });

  test('calls its listeners once, at once and in their order', () => {
    const heard: string[] = [];
    const stop = new Stopper();
    stop.addEventListener('abort', () => heard.push('a'));
    stop.addEventListener('abort', () => heard.push('b'));
    stop.abort();
    stop.abort();
    expect([stop.aborted, heard]).toEqual([true, ['a', 'b']]);
  });

  test('calls a listener that comes late at once', () => {
    const heard: string[] = [];
    const stop = new Stopper();
    stop.abort();
    stop.addEventListener('abort', () => heard.push('late'));
    expect(heard).toEqual(['late']);
  });

  test('does not call a listener that was removed', () => {
    const heard: string[] = [];
    const listener = (): void => void heard.push('removed');
    const stop = new Stopper();
    stop.addEventListener('abort', listener);
    stop.removeEventListener('abort', listener);
    stop.abort();
    expect(heard).toEqual([]);
  });

  test('may be raised by a listener of its own without calling any twice', () => {
    const heard: string[] = [];
    const stop = new Stopper();
    stop.addEventListener('abort', () => {
      heard.push('a');
      stop.abort();
    });
    stop.addEventListener('abort', () => heard.push('b'));
    stop.abort();
    expect(heard).toEqual(['a', 'b']);
  });
});

test('the signal that is never raised ends no child', () => {
  expect([neverStopping.aborted, new Stopper(neverStopping).aborted]).toEqual([false, false]);
});

describe('a stopper with parents', () => {
  test('is raised with a parent that was raised before it was made', () => {
    const parent = new Stopper();
    parent.abort();
    expect(new Stopper(new Stopper(), parent).aborted).toBe(true);
  });

  test('does not raise its parents', () => {
    const parent = new Stopper();
    new Stopper(parent).abort();
    expect(parent.aborted).toBe(false);
  });

  test('is a parent like any AbortSignal', () => {
    const controller = new AbortController();
    const stop = new Stopper(controller.signal);
    controller.abort();
    expect(stop.aborted).toBe(true);
  });

  test('lets go of a parent once it is raised, so that long-lived parents keep no dead children', () => {
    const listeners = new Set<() => void>();
    const parent = {
      aborted: false,
      addEventListener: (_type: 'abort', listener: () => void): void =>
        void listeners.add(listener),
      removeEventListener: (_type: 'abort', listener: () => void): void =>
        void listeners.delete(listener),
    };
    const stop = new Stopper(parent);
    expect(listeners.size).toBe(1);
    stop.abort();
    expect(listeners.size).toBe(0);
  });

  test('also lets go of a living parent when another was raised before', () => {
    const listeners = new Set<() => void>();
    const living = {
      aborted: false,
      addEventListener: (_type: 'abort', listener: () => void): void =>
        void listeners.add(listener),
      removeEventListener: (_type: 'abort', listener: () => void): void =>
        void listeners.delete(listener),
    };
    const raised = new Stopper();
    raised.abort();
    expect(new Stopper(living, raised).aborted).toBe(true);
    expect(listeners.size).toBe(0);
  });

  test('is raised exactly when itself or some ancestor was', () =>
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 9 }), { maxLength: 9 }),
        fc.nat({ max: 9 }),
        (parents, raised) => {
          const chain = [new Stopper()];
          const ancestors = [new Set([0])];
          parents.forEach((parent, index) => {
            const at = parent % chain.length;
            chain.push(new Stopper(chain[at]!));
            ancestors.push(new Set([index + 1, ...ancestors[at]!]));
          });
          const which = raised % chain.length;
          chain[which]?.abort();
          expect(chain.map(({ aborted }) => aborted)).toEqual(ancestors.map((of) => of.has(which)));
        },
      ),
    ));
});
