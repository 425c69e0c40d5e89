import type { Ec2Filter } from '@dovetail/core-ports';
import { byCodeUnits, hexOf } from './digest.js';
import { AwsFault } from './fault.js';
import { admitted, matchesPattern, tagFilterValues } from './filters.js';
import type { Timeline } from './timeline.js';

export type ImageFamily = 'AL2' | 'AL2023' | 'Bottlerocket';

/** A machine image. Images of EKS carry what they were built for, so that a booted machine knows its kubelet's version. */
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
export const kubernetesMinors: readonly string[] = Array.from({ length: 14 }, (_, index) => `1.${23 + index}`);

type Build = { readonly family: ImageFamily; readonly arch: 'amd64' | 'arm64'; readonly variant: string };
type Release = { readonly stamp: string; readonly bottlerocket: string; readonly createdMs: number };

const wireArch = (arch: 'amd64' | 'arm64'): string => (arch === 'amd64' ? 'x86_64' : 'arm64');

const builds: readonly Build[] = [
  { family: 'AL2', arch: 'amd64', variant: '' }, { family: 'AL2', arch: 'arm64', variant: '-arm64' }, { family: 'AL2', arch: 'amd64', variant: '-gpu' },
  { family: 'AL2023', arch: 'amd64', variant: 'standard' }, { family: 'AL2023', arch: 'arm64', variant: 'standard' },
  { family: 'AL2023', arch: 'amd64', variant: 'nvidia' }, { family: 'AL2023', arch: 'arm64', variant: 'nvidia' }, { family: 'AL2023', arch: 'amd64', variant: 'neuron' },
  { family: 'Bottlerocket', arch: 'amd64', variant: '' }, { family: 'Bottlerocket', arch: 'arm64', variant: '' },
  { family: 'Bottlerocket', arch: 'amd64', variant: '-nvidia' }, { family: 'Bottlerocket', arch: 'arm64', variant: '-nvidia' },
];
const firstReleases: readonly Release[] = [
  { stamp: '20260801', bottlerocket: '1.58.0', createdMs: Date.UTC(2026, 7, 1) },
  { stamp: '20261101', bottlerocket: '1.61.0', createdMs: Date.UTC(2026, 10, 1) },
];
/** EKS publishes Amazon Linux 2 images up to this minor. */
const al2MinorMax = 32;

const minorOf = (version: string): number => Number(version.split('.')[1]);

function nameOf(build: Build, version: string, release: Release): string {
  const arch = wireArch(build.arch);
  if (build.family === 'AL2') return `amazon-eks${build.variant}-node-${version}-v${release.stamp}`;
  if (build.family === 'AL2023') return `amazon-eks-node-al2023-${arch}-${build.variant}-${version}-v${release.stamp}`;
  return `bottlerocket-aws-k8s-${version}${build.variant}-${arch}-v${release.bottlerocket}-${hexOf(8, 'bottlerocket', release.bottlerocket)}`;
}

function imageOf(region: string, build: Build, version: string, release: Release): TwinImage {
  const name = nameOf(build, version, release);
  return {
    id: `ami-${hexOf(17, 'ami', region, name)}`, name, arch: build.arch, createdMs: release.createdMs,
    ownerId: build.family === 'Bottlerocket' ? '092701018921' : '602401143452', ownerAlias: 'amazon',
    tags: {}, family: build.family, kubernetesVersion: version, rootDeviceName: '/dev/xvda',
    description: `EKS Kubernetes Worker AMI (k8s: ${version})`,
  };
}

const al2Path = /^\/aws\/service\/eks\/optimized-ami\/(1\.\d+)\/amazon-linux-2(|-arm64|-gpu)\/([^/]+)\/image_id$/;
const al2023Path = /^\/aws\/service\/eks\/optimized-ami\/(1\.\d+)\/amazon-linux-2023\/(x86_64|arm64)\/([a-z]+)\/([^/]+)\/image_id$/;
const bottlerocketPath = /^\/aws\/service\/bottlerocket\/aws-k8s-(1\.\d+)(|-nvidia)\/(x86_64|arm64)\/([^/]+)\/image_id$/;

type Named = { readonly version: string; readonly build: Omit<Build, 'arch'> & { readonly arch: string }; readonly release: string };

/** What a public parameter's path names: version, build, and release (`recommended` or `latest` for the newest). */
function namedBy(path: string): Named | undefined {
  const al2 = al2Path.exec(path);
  if (al2 !== null) return { version: al2[1] ?? '', build: { family: 'AL2', variant: al2[2] ?? '', arch: al2[2] === '-arm64' ? 'arm64' : 'x86_64' }, release: al2[3] ?? '' };
  const al2023 = al2023Path.exec(path);
  if (al2023 !== null) return { version: al2023[1] ?? '', build: { family: 'AL2023', arch: al2023[2] ?? '', variant: al2023[3] ?? '' }, release: al2023[4] ?? '' };
  const rocket = bottlerocketPath.exec(path);
  if (rocket !== null) return { version: rocket[1] ?? '', build: { family: 'Bottlerocket', variant: rocket[2] ?? '', arch: rocket[3] ?? '' }, release: rocket[4] ?? '' };
  return undefined;
}

export type ImageQuery = { readonly ids?: readonly string[]; readonly owners?: readonly string[]; readonly filters: readonly Ec2Filter[]; readonly includeDeprecated?: boolean };

/** Images and the SSM parameters that name them. */
export type Images = {
  get(id: string): TwinImage | undefined;
  describe(query: ImageQuery): readonly TwinImage[];
  /** The value of an SSM parameter, public or set by a test; undefined when there is none. */
  parameter(name: string): { readonly value: string; readonly version: number } | undefined;
  setParameter(name: string, value: string): void;
  /** Publishes new images for a Kubernetes version, so that `recommended` names another one. Answers the release's stamp. */
  release(kubernetesVersion: string): string;
  /** Registers an image of the account's own. */
  add(image: Omit<TwinImage, 'id' | 'createdMs' | 'ownerId' | 'tags' | 'rootDeviceName'> & { readonly id?: string; readonly tags?: Readonly<Record<string, string>> }): TwinImage;
  deprecate(id: string): void;
};

const filterNames: ReadonlySet<string> = new Set(['architecture', 'image-id', 'name', 'description', 'owner-id', 'owner-alias', 'state', 'creation-date', 'is-public', 'image-type', 'platform-details', 'root-device-name', 'root-device-type', 'virtualization-type', 'hypervisor']);

function filterValue(image: TwinImage, name: string): readonly string[] | undefined {
  switch (name) {
    case 'architecture': return [wireArch(image.arch)];
    case 'image-id': return [image.id];
    case 'name': return [image.name];
    case 'description': return image.description === undefined ? [] : [image.description];
    case 'owner-id': return [image.ownerId];
    case 'owner-alias': return image.ownerAlias === undefined ? [] : [image.ownerAlias];
    case 'state': return ['available'];
    case 'creation-date': return [new Date(image.createdMs).toISOString()];
    case 'is-public': return [String(image.ownerAlias === 'amazon')];
    case 'image-type': return ['machine'];
    case 'platform-details': return ['Linux/UNIX'];
    case 'root-device-name': return [image.rootDeviceName];
    case 'root-device-type': return ['ebs'];
    case 'virtualization-type': return ['hvm'];
    case 'hypervisor': return ['xen'];
    default: return tagFilterValues(image.tags, name);
  }
}

function select(images: ReadonlyMap<string, TwinImage>, query: ImageQuery, asked: { readonly accountId: string; readonly nowMs: number }): readonly TwinImage[] {
  const missing = (query.ids ?? []).filter((id) => !images.has(id));
  if (missing.length > 0) throw new AwsFault('InvalidAMIID.NotFound', `The image ${missing.length === 1 ? 'id' : 'ids'} '[${missing.join(', ')}]' ${missing.length === 1 ? 'does' : 'do'} not exist`);
  const owned = (image: TwinImage): boolean => query.owners === undefined || query.owners.length === 0 || query.owners.some((owner) =>
    owner === 'self' ? image.ownerId === asked.accountId : owner === image.ownerId || owner === image.ownerAlias);
  const current = (image: TwinImage): boolean => query.includeDeprecated === true || image.ownerId === asked.accountId || (image.deprecatedMs ?? Number.POSITIVE_INFINITY) > asked.nowMs;
  const ids = query.ids === undefined || query.ids.length === 0 ? undefined : new Set(query.ids);
  const found = [...images.values()].filter((image) => owned(image) && current(image) && (ids?.has(image.id) ?? true));
  return [...admitted(found, query.filters, (image) => (name) => filterValue(image, name), filterNames)].sort((left, right) => byCodeUnits(left.id, right.id));
}

/** The image that a public parameter names. `newest` has the latest image of each build by family, architecture, variant and version. */
function publicParameter(images: ReadonlyMap<string, TwinImage>, newest: ReadonlyMap<string, string>, path: string): string | undefined {
  const named = namedBy(path);
  if (named === undefined) return undefined;
  const { build, version, release } = named;
  const newestId = newest.get(`${build.family}/${build.arch}/${build.variant}/${version}`);
  if (newestId === undefined || release === 'recommended' || release === 'latest') return newestId;
  const wanted = build.family === 'Bottlerocket' ? `bottlerocket-aws-k8s-${version}${build.variant}-${build.arch}-v${release.replace(/^v/, '')}-*` : release;
  return [...images.values()].find((image) => image.family === build.family && matchesPattern(wanted, image.name))?.id;
}

/** The images of a region: two releases for every version and build, and whatever tests add. */
export function createImages(deps: { readonly timeline: Timeline; readonly region: string; readonly accountId: string }): Images {
  const { timeline, region, accountId } = deps;
  const images = new Map<string, TwinImage>();
  const newest = new Map<string, string>();
  const parameters = new Map<string, { value: string; version: number }>();
  const publish = (version: string, release: Release): void => {
    for (const build of builds) {
      if (build.family === 'AL2' && minorOf(version) > al2MinorMax) continue;
      const image = imageOf(region, build, version, release);
      images.set(image.id, image);
      newest.set(`${build.family}/${wireArch(build.arch)}/${build.variant}/${version}`, image.id);
    }
  };
  for (const version of kubernetesMinors) for (const release of firstReleases) publish(version, release);
  return {
    get: (id) => images.get(id),
    describe: (query) => select(images, query, { accountId, nowMs: timeline.nowMs() }),
    parameter(name) {
      const own = parameters.get(name);
      if (own !== undefined) return { ...own };
      const value = publicParameter(images, newest, name);
      return value === undefined ? undefined : { value, version: 1 };
    },
    setParameter: (name, value) => { parameters.set(name, { value, version: (parameters.get(name)?.version ?? 1) + 1 }); },
    release: (version) => releaseNext(images, version, timeline.nowMs(), publish),
    add(image) {
      const whole: TwinImage = { tags: {}, rootDeviceName: '/dev/xvda', ...image, id: image.id ?? `ami-${hexOf(17, 'own', region, image.name, images.size)}`, createdMs: timeline.nowMs(), ownerId: accountId };
      images.set(whole.id, whole);
      return whole;
    },
    deprecate: (id) => {
      for (const image of select(images, { ids: [id], filters: [], includeDeprecated: true }, { accountId, nowMs: timeline.nowMs() })) images.set(id, { ...image, deprecatedMs: timeline.nowMs() });
    },
  };
}

/** The next release of a version: dated now, or a day after the newest when that is later. */
function releaseNext(images: ReadonlyMap<string, TwinImage>, version: string, nowMs: number, publish: (version: string, release: Release) => void): string {
  if (!kubernetesMinors.includes(version)) throw new RangeError(`kubernetesVersion: there are no images for ${version}; versions are ${kubernetesMinors[0] ?? ''} to ${kubernetesMinors.at(-1) ?? ''}`);
  const created = [...images.values()].filter((image) => image.kubernetesVersion === version).map((image) => image.createdMs);
  const createdMs = Math.max(nowMs, ...created.map((ms) => ms + 86_400_000));
  const stamp = new Date(createdMs).toISOString().slice(0, 10).replaceAll('-', '');
  publish(version, { stamp, createdMs, bottlerocket: `1.${61 + new Set(created).size - 1}.0` });
  return stamp;
}
