import type { Log } from '@dovetail/core-ports';
import { pino } from 'pino';

/** The least severe lines that are written. */
export type LogLevel = (typeof logLevels)[number];

/** All levels, the one with the most lines first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** A log whose level can change while it is written. */
export type LeveledLog = Log & { setLevel(level: LogLevel): void };

/**
 * Writes JSON lines to standard output. `event` is the stable name, `msg` the sentence, and the
 * rest are fields.
 */
export function createLog(options: {
  readonly service: string;
  readonly level: LogLevel;
}): LeveledLog {
  const logger = pino({
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level) => ({ level }) },
  });
  const at =
    (level: LogLevel): Log['info'] =>
    (name, message, fields) =>
      logger[level]({ event: name, ...fields }, message);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    setLevel: (level) => {
      logger.level = level;
    },
  };
}
