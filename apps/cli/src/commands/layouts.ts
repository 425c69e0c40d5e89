import type { Layout } from '../layout/columns.js';

/** The layout of tables for standard output: as wide as its terminal, unless `wide` says else. */
export function terminalLayout({ wide = false }: { readonly wide?: boolean } = {}): Layout {
  const { columns: width } = process.stdout;
  return wide || width === undefined ? {} : { width };
}
