// Writes the pages of docs/reference that follow from the code.
// Usage: npm run reference
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { referencePages } from './pages.js';

for (const [path, text] of referencePages())
  writeFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), text);
