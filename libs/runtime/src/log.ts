import type { Log } from '@dovetail/core-ports';
import { pino } from 'pino';

/** The least severe lines that are written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * Writes JSON lines to standard output. `event` is the stable name, `msg` the sentence, and the
 * rest are fields.
 */
export function createLog(options: { readonly service: string; readonly level: LogLevel }): Log {
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
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
