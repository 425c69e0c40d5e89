import { readFileSync } from 'node:fs';

import type { NatsCredentials } from './options.js';

/**
 * Credentials from a file: a `.creds` file, or the seed of an NKey. An empty path is none. Throws
 * when it cannot be read.
 */
export function credentialsOf(path: string): { readonly credentials?: NatsCredentials } {
  if (path === '') return {};
  const text = readFileSync(path, 'utf8');
  return {
    credentials: /^SU[A-Z2-7]+$/.test(text.trim())
      ? { kind: 'nkey', seed: text.trim() }
      : { kind: 'creds', text },
  };
}
