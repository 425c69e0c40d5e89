import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { crdFiles } from './files.js';

const folder = fileURLToPath(new URL('../../deploy/crds/', import.meta.url));
for (const [name, content] of crdFiles()) writeFileSync(`${folder}${name}`, content);
