import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Stopper } from '@dovetail/core-ports';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { LeveledLog, LogLevel } from './log.js';
import { followLogLevel } from './log-level.js';

let folder: string;
let stop: Stopper;
let lines: string[];
let level: LogLevel | undefined;

const line = (event: string, message: string): void => void lines.push(`${event}: ${message}`);
const log: LeveledLog = {
  debug: line,
  info: line,
  warn: line,
  error: line,
  setLevel: (next) => {
    level = next;
  },
};
const file = (): string => join(folder, 'launcher');
const write = (text: string): void => writeFileSync(file(), text);
const follow = (): void => followLogLevel(log, { file: file(), fallback: 'info', stop });

beforeEach(() => {
  vi.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), 'dovetail-level-'));
  stop = new Stopper();
  lines = [];
  level = undefined;
});
afterEach(() => {
  stop.abort();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

describe('the level in a file', () => {
  test('counts from the start', () => {
    write('warn\n');
    follow();
    expect([level, lines]).toEqual([
      'warn',
      ['log-level-changed: the log level is warn now, and was info'],
    ]);
  });

  test('is followed while the service runs, and LOG_LEVEL counts again once the file is gone', () => {
    follow();
    const seen: (LogLevel | undefined)[] = [level];
    for (const change of [() => write('debug'), () => write('error'), () => rmSync(file())]) {
      change();
      vi.advanceTimersByTime(2_000);
      seen.push(level);
    }
    expect(seen).toEqual([undefined, 'debug', 'error', 'info']);
  });

  test('that cannot be read changes nothing and is told once, with the remedy', () => {
    write('verbose');
    follow();
    vi.advanceTimersByTime(10_000);
    expect(level).toBeUndefined();
    expect(lines).toEqual([
      `log-level-unreadable: the log level stays info: ${file()} cannot be read: it says "verbose"; write one of debug, info, warn, error`,
    ]);
    write('debug');
    vi.advanceTimersByTime(2_000);
    expect(level).toBe('debug');
  });

  test('is not read any more after the stop', () => {
    follow();
    stop.abort();
    write('debug');
    vi.advanceTimersByTime(10_000);
    expect(level).toBeUndefined();
  });

  test('without a path nothing is read', () => {
    followLogLevel(log, { file: '', fallback: 'info', stop });
    expect([level, lines, vi.getTimerCount()]).toEqual([undefined, [], 0]);
  });
});
