import { readFileSync } from 'node:fs';

import { messageOf, type StopSignal } from '@dovetail/core-ports';

import { type LeveledLog, type LogLevel, logLevels } from './log.js';

/**
 * How often the file is read. The kubelet renews a mounted ConfigMap about once a minute, so a few
 * seconds more are not noticed, and a small file costs nothing to read.
 */
const everyMs = 2_000;

/** The file of a level, and the level that counts without it. An empty path: there is no file. */
type LogLevelSource = {
  readonly file: string;
  readonly fallback: LogLevel;
  readonly stop: StopSignal;
};

/** The content of the file: a level, nothing, or what is wrong with it. */
type Reading =
  | { readonly kind: 'level'; readonly level: LogLevel }
  | { readonly kind: 'absent' }
  | { readonly kind: 'wrong'; readonly why: string };

function readingOf(file: string): Reading {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const isAbsent = (error as { readonly code?: unknown }).code === 'ENOENT';
    return isAbsent ? { kind: 'absent' } : { kind: 'wrong', why: messageOf(error) };
  }
  const level = logLevels.find((each) => each === text);
  if (level !== undefined) return { kind: 'level', level };
  return {
    kind: 'wrong',
    why: `it says ${JSON.stringify(text.slice(0, 40))}; write one of ${logLevels.join(', ')}`,
  };
}

/**
 * Keeps the level of the log equal to the one in the file, from now on until `stop`. A file that
 * cannot be read changes nothing, and is told once. The timer keeps no process running.
 */
export function followLogLevel(log: LeveledLog, { file, fallback, stop }: LogLevelSource): void {
  if (file === '') return;
  let now: LogLevel = fallback;
  let told = '';
  const look = (): void => {
    const reading = readingOf(file);
    if (reading.kind === 'wrong') {
      if (told !== reading.why)
        log.warn(
          'log-level-unreadable',
          `the log level stays ${now}: ${file} cannot be read: ${reading.why}`,
          { file },
        );
      told = reading.why;
      return;
    }
    told = '';
    const next = reading.kind === 'level' ? reading.level : fallback;
    if (next === now) return;
    change(log, now, next);
    now = next;
  };
  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  stop.addEventListener('abort', () => clearInterval(timer), { once: true });
}

/** Changes the level, and says so while the log has the more talkative of the two. */
function change(log: LeveledLog, before: LogLevel, after: LogLevel): void {
  const tell = (): void =>
    log.info('log-level-changed', `the log level is ${after} now, and was ${before}`, {
      before,
      after,
    });
  if (logLevels.indexOf(after) > logLevels.indexOf(before)) tell();
  log.setLevel(after);
  if (logLevels.indexOf(after) < logLevels.indexOf(before)) tell();
}
