import { plainText } from '@dovetail/core-kube-model';
import type { Log, LogFields } from '@dovetail/core-ports';
import { type DestinationStream, pino } from 'pino';

/** The least severe lines that are written. */
export type LogLevel = (typeof logLevels)[number];

/** All levels, the one with the most lines first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** A log whose level can change while it is written. */
export type LeveledLog = Log & { setLevel(level: LogLevel): void };

/** A longer field is a tenant's text, of which an object may hold a megabyte. */
const fieldMax = 16_384;

const cut = (fields: LogFields): LogFields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' && value.length > fieldMax
        ? `${value.slice(0, fieldMax - 1)}…`
        : value,
    ]),
  );

/**
 * Writes JSON lines to standard output, or `to`. `event` is the stable name, `msg` the sentence,
 * and the rest are fields, each cut after 16,384 characters.
 */
export function createLog(options: {
  readonly service: string;
  readonly level: LogLevel;
  readonly to?: DestinationStream;
}): LeveledLog {
  const { service, level: least, to = pino.destination(1) } = options;
  const logger = pino(
    {
      level: least,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    to,
  );
  const at =
    (level: LogLevel): Log['info'] =>
    (name, message, fields) =>
      logger[level]({ event: name, ...cut(fields ?? {}) }, plainText(message));
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
