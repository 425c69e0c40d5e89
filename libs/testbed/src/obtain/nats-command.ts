import { join } from 'node:path';

import { installOnce } from './cache.js';
import { buildGo } from './go-build.js';
import {
  type ObtainOptions,
  orUnavailable,
  type Program,
  settingsOf,
  type Unavailable,
} from './obtained.js';
import { versionOf } from './versions.js';

const commandVersion = '0.5.0';
const modulePath = 'github.com/nats-io/natscli';
const buildDeadlineMs = 20 * 60_000;
const remedy = 'install Go 1.26 or later and make its module proxy reachable; then try again';

/** Obtains NATS' own command line, built from its Go module the first time and cached. */
export async function obtainNatsCommand(
  options: ObtainOptions = {},
): Promise<Program | Unavailable> {
  return await orUnavailable(async () => {
    const settings = settingsOf(options);
    const version = `v${commandVersion}`;
    const folder = await installOnce({
      ...settings,
      name: `nats-command-${commandVersion}`,
      deadlineMs: buildDeadlineMs,
      isGood: async (candidate) =>
        (await versionOf(join(candidate, 'nats'), ['--version'], /(\d+\.\d+\.\d+)/)) ===
        commandVersion,
      fill: async (draft) => {
        await buildGo(
          {
            title: `nats ${commandVersion}`,
            module: { path: modulePath, version },
            packages: [`${modulePath}/nats`],
            stamps: [`main.version=${commandVersion}`],
            effort: 'the command line of NATS (about 2 minutes on 2 cores, once)',
            remedy,
            log: settings.log,
          },
          draft,
        );
      },
    });
    return { path: join(folder, 'nats'), version: commandVersion };
  });
}
