// The image of a release: assembled without a container engine, looked at, and read by skopeo.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { services } from '../image-parts/contents.js';
import { LeftOut } from './outcome.js';

type Descriptor = {
  readonly digest: string;
  readonly platform?: { readonly architecture: string };
};
type Manifest = { readonly config: Descriptor; readonly layers: readonly Descriptor[] };
type Config = {
  readonly config: { readonly User: string; readonly Labels: Readonly<Record<string, string>> };
};

/** The labels of OCI that say what an image is, and from what it was built. */
const labels = ['title', 'description', 'licenses', 'version', 'revision'] as const;
/** Files that the image carries for those who look into it. */
export const carried: readonly string[] = [
  'app/LICENSE',
  'app/NOTICE',
  'app/sbom.cdx.json',
  ...[...services, 'cli'].flatMap((program) => [
    `app/${program}.js.map`,
    `app/${program}.notices.txt`,
  ]),
];

const blob = (layout: string, { digest }: Descriptor): string =>
  join(layout, 'blobs', digest.replace(':', '/'));
const jsonAt = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;

/** The digest of the index of all architectures, by which the image is pulled and signed. */
export function imageDigest(layout: string): string {
  const { manifests } = jsonAt<{ readonly manifests: readonly Descriptor[] }>(
    join(layout, 'index.json'),
  );
  const [index] = manifests;
  if (index === undefined) throw new Error(`${layout} holds no image`);
  return index.digest;
}

/** Looks at one architecture: its labels, its user, and what it carries. Throws what is missing. */
function lookAt(layout: string, image: Descriptor, version: string): string {
  const { config, layers } = jsonAt<Manifest>(blob(layout, image));
  const { User, Labels } = jsonAt<Config>(blob(layout, config)).config;
  const wanted = labels.map((label) => `org.opencontainers.image.${label}`);
  const unlabelled = wanted.filter((label) => (Labels[label] ?? '') === '');
  if (unlabelled.length > 0) throw new Error(`labels are missing: ${unlabelled.join(', ')}`);
  if (Labels['org.opencontainers.image.version'] !== version)
    throw new Error(`its label says version ${Labels['org.opencontainers.image.version'] ?? ''}`);
  if (User !== '65532:65532') throw new Error(`it runs as ${User}, not as 65532:65532`);
  const top = layers.at(-1);
  const held = top === undefined ? '' : filesIn(blob(layout, top));
  const missing = carried.filter((file) => !held.includes(`./${file}\n`));
  if (missing.length > 0) throw new Error(`files are missing: ${missing.join(', ')}`);
  return `${image.platform?.architecture ?? 'unknown'} with ${String(layers.length)} layers`;
}

const filesIn = (layer: string): string =>
  execFileSync('tar', ['-tzf', layer], { encoding: 'utf8', maxBuffer: 1 << 26 });

/**
 * Assembles the image of both architectures into the folder, writes its digest beside it, and looks
 * at each. Throws LeftOut where Node.js or a library cannot be had.
 */
export function assembleImage(
  layout: string,
  { version, revision }: { readonly version: string; readonly revision: string },
): string {
  const { status, stderr } = spawnSync('node_modules/.bin/tsx', ['tools/image-layout.ts', layout], {
    encoding: 'utf8',
    env: { ...process.env, VERSION: version, REVISION: revision },
  });
  if (status === 69) throw new LeftOut(stderr.trim());
  if (status !== 0) throw new Error(stderr.trim());
  const digest = imageDigest(layout);
  writeFileSync(`${layout}.digest`, `${digest}\n`);
  const { manifests } = jsonAt<{ readonly manifests: readonly Descriptor[] }>(
    blob(layout, { digest }),
  );
  const looks = manifests.map((image) => lookAt(layout, image, version));
  return `${digest}: ${looks.join(', ')}; labels, licences, source maps and the list of packages are there`;
}

/** Copies the image by skopeo into a file, as a release copies it to a registry. */
export function copyImage(layout: string, archive: string): string {
  if (spawnSync('skopeo', ['--version']).status !== 0)
    throw new LeftOut(
      'skopeo is not on PATH: install it to see that another program reads the image',
    );
  const copy = ['copy', '--quiet', '--all', '--preserve-digests', '--insecure-policy'];
  execFileSync('skopeo', [...copy, `oci:${layout}:dovetail`, `oci-archive:${archive}:dovetail`], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
  const inspected = (architecture: string): string =>
    (
      JSON.parse(
        execFileSync(
          'skopeo',
          ['inspect', '--override-arch', architecture, `oci-archive:${archive}:dovetail`],
          { encoding: 'utf8', stdio: 'pipe' },
        ),
      ) as { readonly Architecture: string }
    ).Architecture;
  const found = ['amd64', 'arm64'].map(inspected);
  if (found.join() !== 'amd64,arm64') throw new Error(`skopeo found ${found.join(', ')}`);
  return `skopeo copied both architectures into ${archive}, and read each`;
}
