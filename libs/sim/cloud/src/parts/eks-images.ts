import { hexOf } from '../foundation/digest.js';
import { matchesPattern } from '../foundation/filters.js';

/** The families of images that EKS publishes. */
type ImageFamily = 'AL2' | 'AL2023' | 'Bottlerocket';

/**
 * A machine image. EKS images carry their family and Kubernetes version, so that a booted machine
 * knows the version of its kubelet.
 */
export type TwinImage = {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly arch: 'amd64' | 'arm64';
  readonly createdMs: number;
  readonly deprecatedMs?: number;
  readonly ownerId: string;
  readonly ownerAlias?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly family?: ImageFamily;
  readonly kubernetesVersion?: string;
  readonly rootDeviceName: string;
};

/** Control plane versions that EKS images exist for: 1.23 to 1.36. */
export const kubernetesMinors: readonly string[] = Array.from(
  { length: 14 },
  (_, index) => `1.${23 + index}`,
);

/** A variant of a family's images for one architecture. */
type Build = {
  readonly family: ImageFamily;
  readonly arch: 'amd64' | 'arm64';
  readonly variant: string;
};
/** One publication of EKS images: its date stamp, and the version of Bottlerocket. */
export type Release = {
  readonly stamp: string;
  readonly bottlerocket: string;
  readonly createdMs: number;
};

/** EC2's name of an architecture. */
export const wireArch = (arch: 'amd64' | 'arm64'): string =>
  arch === 'amd64' ? 'x86_64' : 'arm64';

const builds: readonly Build[] = [
  { family: 'AL2', arch: 'amd64', variant: '' },
  { family: 'AL2', arch: 'arm64', variant: '-arm64' },
  { family: 'AL2', arch: 'amd64', variant: '-gpu' },
  { family: 'AL2023', arch: 'amd64', variant: 'standard' },
  { family: 'AL2023', arch: 'arm64', variant: 'standard' },
  { family: 'AL2023', arch: 'amd64', variant: 'nvidia' },
  { family: 'AL2023', arch: 'arm64', variant: 'nvidia' },
  { family: 'AL2023', arch: 'amd64', variant: 'neuron' },
  { family: 'Bottlerocket', arch: 'amd64', variant: '' },
  { family: 'Bottlerocket', arch: 'arm64', variant: '' },
  { family: 'Bottlerocket', arch: 'amd64', variant: '-nvidia' },
  { family: 'Bottlerocket', arch: 'arm64', variant: '-nvidia' },
];
/** The releases that a region begins with. */
export const firstReleases: readonly Release[] = [
  { stamp: '20260801', bottlerocket: '1.58.0', createdMs: Date.UTC(2026, 7, 1) },
  { stamp: '20261101', bottlerocket: '1.61.0', createdMs: Date.UTC(2026, 10, 1) },
];
/** EKS publishes no Amazon Linux 2 images after this minor version. */
const al2MinorMax = 32;

const minorOf = (version: string): number => Number(version.split('.')[1]);

function nameOf(build: Build, version: string, release: Release): string {
  const arch = wireArch(build.arch);
  if (build.family === 'AL2') return `amazon-eks${build.variant}-node-${version}-v${release.stamp}`;
  if (build.family === 'AL2023')
    return `amazon-eks-node-al2023-${arch}-${build.variant}-${version}-v${release.stamp}`;
  return `bottlerocket-aws-k8s-${version}${build.variant}-${arch}-v${release.bottlerocket}-${hexOf(8, 'bottlerocket', release.bottlerocket)}`;
}

function imageOf(region: string, build: Build, version: string, release: Release): TwinImage {
  const name = nameOf(build, version, release);
  return {
    id: `ami-${hexOf(17, 'ami', region, name)}`,
    name,
    arch: build.arch,
    createdMs: release.createdMs,
    ownerId: build.family === 'Bottlerocket' ? '092701018921' : '602401143452',
    ownerAlias: 'amazon',
    tags: {},
    family: build.family,
    kubernetesVersion: version,
    rootDeviceName: '/dev/xvda',
    description: `EKS Kubernetes Worker AMI (k8s: ${version})`,
  };
}

const al2Path =
  /^\/aws\/service\/eks\/optimized-ami\/(1\.\d+)\/amazon-linux-2(|-arm64|-gpu)\/([^/]+)\/image_id$/;
const al2023Path =
  /^\/aws\/service\/eks\/optimized-ami\/(1\.\d+)\/amazon-linux-2023\/(x86_64|arm64)\/([a-z]+)\/([^/]+)\/image_id$/;
const bottlerocketPath =
  /^\/aws\/service\/bottlerocket\/aws-k8s-(1\.\d+)(|-nvidia)\/(x86_64|arm64)\/([^/]+)\/image_id$/;

type Named = {
  readonly version: string;
  readonly build: Omit<Build, 'arch'> & { readonly arch: string };
  readonly release: string;
};

/**
 * The version, build and release that a public parameter's path names. `recommended` and `latest`
 * name the newest release.
 */
function namedBy(path: string): Named | undefined {
  const al2 = al2Path.exec(path);
  if (al2 !== null)
    return {
      version: al2[1] ?? '',
      build: {
        family: 'AL2',
        variant: al2[2] ?? '',
        arch: al2[2] === '-arm64' ? 'arm64' : 'x86_64',
      },
      release: al2[3] ?? '',
    };
  const al2023 = al2023Path.exec(path);
  if (al2023 !== null)
    return {
      version: al2023[1] ?? '',
      build: { family: 'AL2023', arch: al2023[2] ?? '', variant: al2023[3] ?? '' },
      release: al2023[4] ?? '',
    };
  const rocket = bottlerocketPath.exec(path);
  if (rocket !== null)
    return {
      version: rocket[1] ?? '',
      build: { family: 'Bottlerocket', variant: rocket[2] ?? '', arch: rocket[3] ?? '' },
      release: rocket[4] ?? '',
    };
  return undefined;
}

/** The key of a build's newest image. */
const newestKey = (build: Omit<Build, 'arch'>, wire: string, version: string): string =>
  `${build.family}/${wire}/${build.variant}/${version}`;

/** The image that a public parameter names. `newest` holds the latest image ids by newestKey. */
export function publicParameter(
  images: ReadonlyMap<string, TwinImage>,
  newest: ReadonlyMap<string, string>,
  path: string,
): string | undefined {
  const named = namedBy(path);
  if (named === undefined) return undefined;
  const { build, version, release } = named;
  const newestId = newest.get(newestKey(build, build.arch, version));
  if (newestId === undefined || release === 'recommended' || release === 'latest') return newestId;
  const wanted =
    build.family === 'Bottlerocket'
      ? `bottlerocket-aws-k8s-${version}${build.variant}-${build.arch}-v${release.replace(/^v/, '')}-*`
      : release;
  return [...images.values()].find(
    (image) => image.family === build.family && matchesPattern(wanted, image.name),
  )?.id;
}

/** Adds a release of every build of a Kubernetes version, and makes it the newest. */
export function publish(
  images: Map<string, TwinImage>,
  newest: Map<string, string>,
  region: string,
  { version, release }: { readonly version: string; readonly release: Release },
): void {
  for (const build of builds) {
    if (build.family === 'AL2' && minorOf(version) > al2MinorMax) continue;
    const image = imageOf(region, build, version, release);
    images.set(image.id, image);
    newest.set(newestKey(build, wireArch(build.arch), version), image.id);
  }
}
