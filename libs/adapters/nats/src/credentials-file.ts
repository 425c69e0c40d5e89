import { readFileSync } from 'node:fs';

import { authenticatorOf, type NatsCredentials } from './options.js';

/**
 * Credentials from a file: a `.creds` file, or the seed of an NKey. An empty path is none. Throws
 * when it cannot be read, or holds no key. The file is read again for each connection, so
 * credentials that are renewed in place are used without a restart.
 */
export function credentialsOf(path: string): { readonly credentials?: NatsCredentials } {
  if (path === '') return {};
  let last = readCredentials(path);
  authenticatorOf(last);
  const read = (): FileCredentials => {
    try {
      last = readCredentials(path);
    } catch {
      // The file is being replaced; the server says whether the old credentials still do.
    }
    return last;
  };
  return { credentials: { kind: 'file', read } };
}

type FileCredentials = Extract<NatsCredentials, { readonly kind: 'nkey' | 'creds' }>;

function readCredentials(path: string): FileCredentials {
  const text = readFileSync(path, 'utf8');
  if (/^SU[A-Z2-7]+$/.test(text.trim())) return { kind: 'nkey', seed: text.trim() };
  if (!text.includes('BEGIN NATS USER JWT'))
    throw new Error('it holds neither the seed of an NKey nor the text of a .creds file');
  return { kind: 'creds', text };
}
