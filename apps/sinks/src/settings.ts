import { commonSettings, readableFile } from '@dovetail/runtime';

import { readDocument } from './config/document.js';

/** The settings of the sinks. */
export const sinksSettings = {
  ...commonSettings,
  sinksFile: {
    env: 'SINKS_FILE',
    flag: 'sinks-file',
    help: 'Path of the file that lists the sinks, as YAML or JSON (docs/guides/sinks.md); none: SINKS has them.',
    fallback: '',
    parse: readableFile,
  },
  sinks: {
    env: 'SINKS',
    flag: 'sinks',
    help: 'The sinks themselves instead of a file, such as {sinks: [{name: audit, webhook: {url: "https://audit.example.com/"}}]}; none: SINKS_FILE has them.',
    fallback: '',
    parse: document,
  },
} as const;

/** Checks the form alone; the sinks in it are read together with those of a file. */
function document(given: string): string {
  readDocument(given);
  return given;
}
