import { compareText } from '@dovetail/core-kube-model';
import type { Ec2Filter } from '@dovetail/core-ports';

import { AwsFault } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import { admitted, tagFilterValues } from '../foundation/filters.js';
import type { Timeline } from '../foundation/timeline.js';
import {
  firstReleases,
  kubernetesMinors,
  publicParameter,
  publish,
  type Release,
  type TwinImage,
  wireArch,
} from './eks-images.js';

/** Selects images for DescribeImages. */
export type ImageQuery = {
  readonly ids?: readonly string[];
  readonly owners?: readonly string[];
  readonly filters: readonly Ec2Filter[];
  readonly includeDeprecated?: boolean;
};

/** An image of the account's own. */
export type ImageOrder = Omit<
  TwinImage,
  'id' | 'createdMs' | 'ownerId' | 'tags' | 'rootDeviceName'
> & { readonly id?: string; readonly tags?: Readonly<Record<string, string>> };

const filterNames: ReadonlySet<string> = new Set([
  'architecture',
  'image-id',
  'name',
  'description',
  'owner-id',
  'owner-alias',
  'state',
  'creation-date',
  'is-public',
  'image-type',
  'platform-details',
  'root-device-name',
  'root-device-type',
  'virtualization-type',
  'hypervisor',
]);

function filterValue(image: TwinImage, name: string): readonly string[] | undefined {
  switch (name) {
    case 'architecture':
      return [wireArch(image.arch)];
    case 'image-id':
      return [image.id];
    case 'name':
      return [image.name];
    case 'description':
      return image.description === undefined ? [] : [image.description];
    case 'owner-id':
      return [image.ownerId];
    case 'owner-alias':
      return image.ownerAlias === undefined ? [] : [image.ownerAlias];
    case 'state':
      return ['available'];
    case 'creation-date':
      return [new Date(image.createdMs).toISOString()];
    case 'is-public':
      return [String(image.ownerAlias === 'amazon')];
    case 'image-type':
      return ['machine'];
    case 'platform-details':
      return ['Linux/UNIX'];
    case 'root-device-name':
      return [image.rootDeviceName];
    case 'root-device-type':
      return ['ebs'];
    case 'virtualization-type':
      return ['hvm'];
    case 'hypervisor':
      return ['xen'];
    default:
      return tagFilterValues(image.tags, name);
  }
}

function select(
  images: ReadonlyMap<string, TwinImage>,
  query: ImageQuery,
  asked: { readonly accountId: string; readonly nowMs: number },
): readonly TwinImage[] {
  const missing = (query.ids ?? []).filter((id) => !images.has(id));
  if (missing.length > 0)
    throw new AwsFault(
      'InvalidAMIID.NotFound',
      `The image ${missing.length === 1 ? 'id' : 'ids'} '[${missing.join(', ')}]' ${missing.length === 1 ? 'does' : 'do'} not exist`,
    );
  const owned = (image: TwinImage): boolean =>
    query.owners === undefined ||
    query.owners.length === 0 ||
    query.owners.some((owner) =>
      owner === 'self'
        ? image.ownerId === asked.accountId
        : owner === image.ownerId || owner === image.ownerAlias,
    );
  const current = (image: TwinImage): boolean =>
    query.includeDeprecated === true ||
    image.ownerId === asked.accountId ||
    (image.deprecatedMs ?? Number.POSITIVE_INFINITY) > asked.nowMs;
  const ids = query.ids === undefined || query.ids.length === 0 ? undefined : new Set(query.ids);
  const found = [...images.values()].filter(
    (image) => owned(image) && current(image) && (ids?.has(image.id) ?? true),
  );
  return [
    ...admitted(found, query.filters, (image) => (name) => filterValue(image, name), filterNames),
  ].sort((left, right) => compareText(left.id, right.id));
}

/**
 * The images of a region and the SSM parameters that name them. It begins with two releases of
 * every Kubernetes version and build.
 */
export class Images {
  readonly #timeline: Timeline;
  readonly #region: string;
  readonly #accountId: string;
  readonly #images = new Map<string, TwinImage>();
  /** The ids of the newest images of each build. */
  readonly #newest = new Map<string, string>();
  readonly #parameters = new Map<string, { value: string; version: number }>();

  constructor(deps: {
    readonly timeline: Timeline;
    readonly region: string;
    readonly accountId: string;
  }) {
    this.#timeline = deps.timeline;
    this.#region = deps.region;
    this.#accountId = deps.accountId;
    for (const version of kubernetesMinors)
      for (const release of firstReleases) this.#publish(version, release);
  }

  get(id: string): TwinImage | undefined {
    return this.#images.get(id);
  }

  describe(query: ImageQuery): readonly TwinImage[] {
    const nowMs = this.#timeline.nowMs();
    return select(this.#images, query, { accountId: this.#accountId, nowMs });
  }

  /** The value of an SSM parameter, public or set by a test; undefined when there is none. */
  parameter(name: string): { readonly value: string; readonly version: number } | undefined {
    const own = this.#parameters.get(name);
    if (own !== undefined) return { ...own };
    const value = publicParameter(this.#images, this.#newest, name);
    return value === undefined ? undefined : { value, version: 1 };
  }

  setParameter(name: string, value: string): void {
    const version = (this.#parameters.get(name)?.version ?? 1) + 1;
    this.#parameters.set(name, { value, version });
  }

  /**
   * Publishes new images for a Kubernetes version, which `recommended` then names. Returns the
   * stamp of the release: today, or the day after the newest release when that is later.
   */
  release(kubernetesVersion: string): string {
    if (!kubernetesMinors.includes(kubernetesVersion))
      throw new RangeError(
        `kubernetesVersion: there are no images for ${kubernetesVersion}; versions are ${kubernetesMinors[0] ?? ''} to ${kubernetesMinors.at(-1) ?? ''}`,
      );
    const created = [...this.#images.values()]
      .filter((image) => image.kubernetesVersion === kubernetesVersion)
      .map((image) => image.createdMs);
    const createdMs = Math.max(this.#timeline.nowMs(), ...created.map((ms) => ms + 86_400_000));
    const stamp = new Date(createdMs).toISOString().slice(0, 10).replaceAll('-', '');
    const bottlerocket = `1.${61 + new Set(created).size - 1}.0`;
    this.#publish(kubernetesVersion, { stamp, createdMs, bottlerocket });
    return stamp;
  }

  /** Registers an image of the account's own. */
  add(order: ImageOrder): TwinImage {
    const image: TwinImage = {
      tags: {},
      rootDeviceName: '/dev/xvda',
      ...order,
      id: order.id ?? `ami-${hexOf(17, 'own', this.#region, order.name, this.#images.size)}`,
      createdMs: this.#timeline.nowMs(),
      ownerId: this.#accountId,
    };
    this.#images.set(image.id, image);
    return image;
  }

  deprecate(id: string): void {
    const deprecatedMs = this.#timeline.nowMs();
    for (const image of this.describe({ ids: [id], filters: [], includeDeprecated: true }))
      this.#images.set(id, { ...image, deprecatedMs });
  }

  #publish(version: string, release: Release): void {
    publish(this.#images, this.#newest, this.#region, { version, release });
  }
}
