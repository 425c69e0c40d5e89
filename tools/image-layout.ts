// Assembles the image without a container engine, for amd64 and arm64, as an OCI image layout.
// Usage: tsx tools/image-layout.ts [FOLDER]   (default dist/oci; after `npx nx run
// @dovetail/deploy:files`). Copy it to a registry with skopeo, crane or oras. VERSION and REVISION
// set the labels of these names; DEBIAN_MIRROR names a mirror of Debian. Exit code 69: Node.js or
// a library was not to be had.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { imageFolder, sbomName } from './image-parts/contents.js';
import { containerConfig } from './image-parts/dockerfile.js';
import {
  type Architecture,
  type Layer,
  type PlatformImage,
  writeLayout,
} from './image-parts/layout.js';
import { RuntimeUnavailable } from './image-parts/obtain.js';
import { obtainRuntime, type Runtime } from './image-parts/runtime.js';
import { type Component, partOf, type Sbom, withParts } from './image-parts/sbom.js';

const out = process.argv[2] ?? 'dist/oci';
const cache = 'dist/image-runtime';
const maxBuffer = 1 << 29;

/** A folder as a layer: names in order, no times, owned by root, and no writer but root. */
const layerOf = (folder: string, purpose: string): Layer => ({
  purpose,
  tar: execFileSync(
    'tar',
    [
      ...['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'],
      ...['--mode=u=rwX,go=rX', '-C', folder, '-cf', '-', '.'],
    ],
    { maxBuffer },
  ),
});

/** Users that programs look up, and the list of packages by which scanners know the libraries. */
function writeFrame(folder: string, { debian }: Runtime): void {
  const users =
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n';
  const status = join(folder, 'var/lib/dpkg/status.d');
  for (const part of ['etc', 'var/lib/dpkg/status.d'])
    mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(join(folder, 'etc/passwd'), users);
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n');
  for (const { name, file } of debian)
    writeFileSync(join(status, name), execFileSync('dpkg-deb', ['--field', file]));
}

/** The parts of an image beside the packages in the bundles. */
const partsOf = (
  architecture: Architecture,
  { nodeVersion, debian }: Runtime,
): readonly Component[] => [
  partOf('node', nodeVersion, `pkg:generic/node@${nodeVersion}`),
  ...debian.map(({ name, version }) =>
    partOf(
      name,
      version,
      `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
    ),
  ),
];

function imageOf(architecture: Architecture, scratch: string): PlatformImage {
  const runtime = obtainRuntime(architecture, cache);
  const [frame, node, app] = ['frame', 'node', 'app'].map((name) =>
    join(scratch, architecture, name),
  ) as [string, string, string];
  writeFrame(frame, runtime);
  cpSync(runtime.nodeFolder, join(node, 'nodejs'), { recursive: true });
  cpSync(imageFolder, join(app, 'app'), { recursive: true });
  const listed = JSON.parse(readFileSync(join(imageFolder, sbomName), 'utf8')) as Sbom;
  const sbom = JSON.stringify(withParts(listed, partsOf(architecture, runtime)), undefined, 2);
  writeFileSync(join(app, 'app', sbomName), `${sbom}\n`);
  const { VERSION, REVISION } = process.env;
  const given = {
    ...(VERSION === undefined ? {} : { VERSION }),
    ...(REVISION === undefined ? {} : { REVISION }),
  };
  return {
    architecture,
    config: containerConfig('deploy/docker/Dockerfile', given),
    layers: [
      ...runtime.debian.map(({ name, version, file }) => ({
        purpose: `Debian's ${name} ${version}`,
        tar: execFileSync('dpkg-deb', ['--fsys-tarfile', file], { maxBuffer }),
      })),
      layerOf(frame, 'users, and the list of packages'),
      layerOf(node, `Node.js ${runtime.nodeVersion}`),
      layerOf(app, 'Dovetail'),
    ],
  };
}

function assemble(): void {
  if (!existsSync(join(imageFolder, sbomName)))
    throw new Error(`${imageFolder} is missing: run \`npx nx run @dovetail/deploy:files\``);
  const scratch = mkdtempSync(join(tmpdir(), 'dovetail-layout-'));
  try {
    const images = (['amd64', 'arm64'] as const).map((each) => imageOf(each, scratch));
    const digest = writeLayout(out, 'dovetail', images);
    process.stdout.write(`${out} holds the image ${digest}, for amd64 and arm64\n`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

try {
  assemble();
} catch (thrown) {
  if (!(thrown instanceof RuntimeUnavailable)) throw thrown;
  process.stderr.write(`image: ${thrown.message}\n`);
  process.exitCode = 69;
}
