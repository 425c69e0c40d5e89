// Writes an image in the form of the OCI image layout: blobs named by their digest, and an index.
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import type { ContainerConfig } from './dockerfile.js';

/** A layer before compression, and what it is for. */
export type Layer = { readonly tar: Uint8Array; readonly purpose: string };

/** A machine's architecture, in the words of Go and Debian. */
export type Architecture = 'amd64' | 'arm64';

/** The image of one architecture. */
export type PlatformImage = {
  readonly architecture: Architecture;
  readonly config: ContainerConfig;
  readonly layers: readonly Layer[];
};

type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number };

const media = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

const digestOf = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

function addBlob(folder: string, mediaType: string, bytes: Uint8Array): Descriptor {
  const digest = digestOf(bytes);
  writeFileSync(join(folder, 'blobs', digest.replace(':', '/')), bytes);
  return { mediaType, digest, size: bytes.length };
}

const addJson = (folder: string, mediaType: string, value: object): Descriptor =>
  addBlob(folder, mediaType, Buffer.from(JSON.stringify(value)));

function addImage(folder: string, { architecture, config, layers }: PlatformImage): object {
  const described = layers.map(({ tar }) =>
    addBlob(folder, media.layer, gzipSync(tar, { level: 6 })),
  );
  const configured = addJson(folder, media.config, {
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ tar }) => digestOf(tar)) },
    history: layers.map(({ purpose }) => ({ created_by: purpose })),
  });
  const manifest = addJson(folder, media.manifest, {
    schemaVersion: 2,
    mediaType: media.manifest,
    config: configured,
    layers: described,
  });
  return { ...manifest, platform: { architecture, os: 'linux' } };
}

/**
 * Writes the layout anew. It holds no time, so the same layers make the same digests. The result is
 * the digest of the index, by which a registry knows the image of all architectures.
 */
export function writeLayout(
  folder: string,
  reference: string,
  images: readonly PlatformImage[],
): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
  const index = addJson(folder, media.index, {
    schemaVersion: 2,
    mediaType: media.index,
    manifests: images.map((image) => addImage(folder, image)),
  });
  const annotations = { 'org.opencontainers.image.ref.name': reference };
  const top = { schemaVersion: 2, mediaType: media.index, manifests: [{ ...index, annotations }] };
  writeFileSync(join(folder, 'index.json'), JSON.stringify(top));
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  return index.digest;
}
