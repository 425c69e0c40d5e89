// The parts of a release check that tests look at.
export { aptSettings, fetchDebian, sourcesOf } from '../image-parts/debian.js';
export { sectionOf } from './changelog.js';
export { valuesWith } from './charts.js';
export { carried } from './image.js';
export { LeftOut, take } from './outcome.js';
export { manifestWith, packageNames } from './packages.js';
export { lockedAs, lockedVersions, otherVersions, versionFiles } from './versions.js';
