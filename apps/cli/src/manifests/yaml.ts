/**
 * The command's use of its YAML library, in a part of the bundle of its own: most manifests are
 * read without it. The library is CommonJS; a bundle finds its names only in static imports.
 */
export { LineCounter, parseDocument, stringify } from 'yaml';
