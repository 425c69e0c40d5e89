/**
 * The command's use of its YAML library, in its own part of the bundle, because most manifests do
 * not need it. The library is CommonJS, and a bundle finds its names only in static imports.
 */
export { LineCounter, parseDocument, stringify } from 'yaml';
