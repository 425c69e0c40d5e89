// Writes the pages of docs/reference, and the fields that manifests may have, from the code.
// Usage: npm run reference
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { referencePages } from './pages.js';

for (const [path, text] of referencePages()) {
  const file = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
