/**
 * What the command uses of its YAML library, in a part of the bundle of its own: most manifests are read without it. The
 * library is CommonJS, whose names a bundle only finds where they are imported statically.
 */
export { LineCounter, parseDocument, stringify } from 'yaml';
