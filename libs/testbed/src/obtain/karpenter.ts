import { access, chmod, constants, copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { installOnce } from './cache.js';
import { buildGo } from './go-build.js';
import { type ObtainOptions, orUnavailable, settingsOf, type Unavailable } from './obtained.js';

/**
 * The release of Karpenter's AWS controller. Version 1.15.1 needs a core that the Go module proxy
 * does not serve; its own code is that of 1.15.0.
 */
const karpenterVersion = '1.15.0';
/** The first Go that has all that 1.15.0 asks for. */
const toolchain = 'go1.26.9';
/**
 * The proxy lacks the version that 1.15.0 asks for. The controller only names three types of this
 * module; the calls are in its end-to-end tests.
 */
const replaced = { 'github.com/aws/aws-sdk-go-v2/service/timestreamwrite': 'v1.35.25' };
const modulePath = 'github.com/aws/karpenter-provider-aws';
const buildDeadlineMs = 40 * 60_000;
const remedy =
  'install Go 1.26 or later, make its module proxy reachable, and free 5 GB of disk; then try again';

/** Karpenter's AWS controller, ready to be started. */
export type KarpenterProgram = {
  readonly path: string;
  readonly version: string;
  /** The folder of its own CustomResourceDefinitions. */
  readonly definitions: string;
};

/**
 * Obtains Karpenter's AWS controller, built from its Go module the first time (about 4 minutes) and
 * cached.
 */
export async function obtainKarpenter(
  options: ObtainOptions = {},
): Promise<KarpenterProgram | Unavailable> {
  return await orUnavailable(async () => {
    const settings = settingsOf(options);
    const folder = await installOnce({
      ...settings,
      name: `karpenter-aws-${karpenterVersion}`,
      deadlineMs: buildDeadlineMs,
      isGood,
      fill: (draft) => buildInto(draft, settings.log),
    });
    const [path, definitions] = [join(folder, 'controller'), join(folder, 'crds')];
    return { path, version: karpenterVersion, definitions };
  });
}

/** The program has no flag for its version, so its presence has to do: a folder appears whole. */
async function isGood(folder: string): Promise<boolean> {
  try {
    await access(join(folder, 'controller'), constants.X_OK);
    return (await readdir(join(folder, 'crds'))).length > 0;
  } catch {
    return false;
  }
}

async function buildInto(folder: string, log: (line: string) => void): Promise<void> {
  const module = await buildGo(
    {
      title: `Karpenter ${karpenterVersion}`,
      module: { path: modulePath, version: `v${karpenterVersion}` },
      packages: [`${modulePath}/cmd/controller`],
      stamps: [`sigs.k8s.io/karpenter/pkg/operator.Version=${karpenterVersion}`],
      toolchain,
      replaces: () => replaced,
      effort: 'its AWS controller (about 4 minutes on 2 cores, once)',
      remedy,
      log,
    },
    folder,
  );
  const [from, to] = [join(module, 'pkg', 'apis', 'crds'), join(folder, 'crds')];
  await mkdir(to);
  for (const name of (await readdir(from)).filter((file) => file.endsWith('.yaml'))) {
    await copyFile(join(from, name), join(to, name));
    // Files of the module cache are read-only.
    await chmod(join(to, name), 0o644);
  }
}
