// Writes the pages of docs/reference, and the fields that manifests may have, from the code.
// Usage: npm run reference
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { referencePages } from './pages.js';

for (const [path, text] of referencePages())
  writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), text);
