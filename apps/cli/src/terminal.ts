import { plainLines, plainText } from '@dovetail/core-kube-model';

import type { Streams } from './simulate/run.js';

let lineOpen = false;

// A reader that has seen enough (`| head`) closes the pipe. That is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exitCode ??= 0;
});

/**
 * The terminal, which obeys no character of a text that is written to it. Progress is one line on
 * standard error, written over and over, and only on a terminal.
 */
export const terminal: Streams = {
  out: (text) => {
    process.stdout.write(plainLines(text));
  },
  err: (text) => {
    process.stderr.write(plainLines(text));
  },
  progress: (text) => {
    if (!process.stderr.isTTY || (text === '' && !lineOpen)) return;
    process.stderr.write(`\r\u001b[K${plainText(text)}`);
    lineOpen = text !== '';
  },
};

/**
 * Resolves once everything that was written has left. A pipe takes in only so much at a time, and
 * the end of a process would cut off the rest.
 */
export async function flushed(): Promise<void> {
  await Promise.all(
    [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => void stream.write('', () => resolve())),
    ),
  );
}
