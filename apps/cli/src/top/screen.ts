import { plainLines } from '@dovetail/core-kube-model';

import type { Screen } from './run.js';

const escape = '\u001b[';

/** A screen of its own on a terminal, which `close` takes away again. `q` calls `end`. */
export function terminalScreen(end: () => void): Screen & { close(): void } {
  const { stdout, stdin } = process;
  const onKey = (key: Buffer): void => {
    // In raw mode the terminal sends no signal for Ctrl-C.
    if (['q', 'Q', '\u0003', '\u0004'].includes(key.toString())) end();
  };
  stdout.write(`${escape}?1049h${escape}?25l`);
  if (stdin.isTTY) {
    stdin.setRawMode(true);
    stdin.on('data', onKey);
    stdin.resume();
  }
  return {
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    draw: (text) => {
      // Each line is cleared to its end, and what was below is cleared, so that nothing flickers.
      const lines = plainLines(text).trimEnd().split('\n').slice(0, stdout.rows);
      stdout.write(`${escape}H${lines.join(`${escape}K\r\n`)}${escape}K${escape}J`);
    },
    close: () => {
      if (stdin.isTTY) {
        stdin.off('data', onKey);
        stdin.setRawMode(false);
        stdin.pause();
      }
      stdout.write(`${escape}?25h${escape}?1049l`);
    },
  };
}
