import { readFileSync } from 'node:fs';

import { connectService } from '@dovetail/adapter-nats';
import { type Clock, messageOf } from '@dovetail/core-ports';
import {
  type Assembled,
  runService,
  SettingsError,
  type Shell,
  systemHash,
} from '@dovetail/runtime';
import { createSinks, sinksMetrics, type SinkSpec } from '@dovetail/service-sinks';

import { readDocument } from './config/document.js';
import { readSinks } from './config/sinks.js';
import { sinksSettings } from './settings.js';

type Settings = Shell<typeof sinksSettings>['settings'];

await runService(
  {
    name: 'sinks',
    purpose:
      'sends decisions to webhooks, Slack and EventBridge; it reads the bus, and no service waits for it',
    settings: sinksSettings,
    metrics: sinksMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof sinksSettings>): Assembled {
  const { settings, log, metrics, clock, vitals } = shell;
  const sinks = sinksOf(settings, clock);
  const bus = connectService('sinks', settings, { log, metrics });
  const reader = { bus, cluster: settings.clusterName, hash: systemHash };
  return {
    service: createSinks({ reader, clock, log, metrics, vitals }, sinks),
    close: () => bus.close(),
  };
}

/** Throws SettingsError with all faults of the sinks. */
function sinksOf({ sinksFile, sinks }: Settings, clock: Clock): readonly SinkSpec[] {
  if ((sinksFile === '') === (sinks === ''))
    throw new SettingsError(
      `sinks cannot start: give either --sinks-file (or SINKS_FILE) or --sinks (or SINKS)${sinks === '' ? '' : ', not both'}.\nSee sinks --help.`,
    );
  const where = sinksFile === '' ? 'SINKS' : sinksFile;
  const read = readSinks(documentOf(sinksFile, sinks), clock);
  if (read.ok) return read.sinks;
  throw new SettingsError(
    `sinks cannot start. ${where}:\n${read.faults.map((fault) => `  - ${fault}`).join('\n')}\nSee sinks --help and docs/guides/sinks.md.`,
  );
}

function documentOf(file: string, text: string): unknown {
  if (file === '') return readDocument(text);
  try {
    return readDocument(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new SettingsError(`--sinks-file (or SINKS_FILE) ${file}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
