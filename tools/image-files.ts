// Collects what the image holds in dist/image: bundles, source maps, licences, and the list of all
// packages in the bundles (sbom.cdx.json).
// Usage: tsx tools/image-files.ts   (after the apps are built; `npx nx run @dovetail/deploy:files`
// does both)
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { bundledFolders, imageFolder, sbomName, stageImage } from './image-parts/contents.js';
import { lockedPackages, referenceAt, sbomOf } from './image-parts/sbom.js';

stageImage();
const references = [...new Set(bundledFolders().map(referenceAt))];
const sbom = sbomOf(lockedPackages(), references);
writeFileSync(join(imageFolder, sbomName), `${JSON.stringify(sbom, undefined, 2)}\n`);
process.stdout.write(`${imageFolder} holds the image's files, of ${references.length} packages\n`);
