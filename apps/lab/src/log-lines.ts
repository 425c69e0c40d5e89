import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The fields of a service's log line that the lab reads. */
export type LogLine = {
  /** When it was written, as ISO 8601. */
  readonly time?: string;
  readonly service?: string;
  readonly event?: string;
  readonly msg?: string;
};

const lookMs = 25;

/**
 * Every JSON line of a log file, present and future, until `stop`. Other lines (a crash, a warning
 * of Node.js) are skipped.
 */
export async function* followLog(path: string, stop: AbortSignal): AsyncGenerator<LogLine> {
  const file = await open(path, 'r');
  let rest = '';
  try {
    while (!stop.aborted) {
      // Without a position, a read continues where the one before ended.
      const { bytesRead, buffer } = await file.read(Buffer.alloc(65_536));
      const lines = `${rest}${buffer.toString('latin1', 0, bytesRead)}`.split('\n');
      rest = lines.pop() ?? '';
      yield* lines.flatMap(lineOf);
      if (bytesRead === 0) await delay(lookMs, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    await file.close();
  }
}

/** The bytes were split as Latin-1, which never cuts a character in two. Here they become text. */
function lineOf(bytes: string): readonly LogLine[] {
  try {
    const line: unknown = JSON.parse(Buffer.from(bytes, 'latin1').toString('utf8'));
    return typeof line === 'object' && line !== null ? [line] : [];
  } catch {
    return [];
  }
}
