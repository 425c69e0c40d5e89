// The parts of a release check that tests look at.
export { sectionOf } from './changelog.js';
export { valuesWith } from './charts.js';
export { packageNames } from './packages.js';
export { lockedAs, lockedVersions, otherVersions, versionFiles } from './versions.js';
