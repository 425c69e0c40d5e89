import type { KubeletConfiguration, NodeClass, NodeClassStatus } from '@dovetail/core-api';
import { type CatalogView, classKey } from '@dovetail/core-cluster';
import {
  canonicalJson,
  type CapacitySettings,
  type InstanceType,
  instanceTypesInSteps,
  type Subnet,
  typesWithPoolKubelet,
} from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import { type Hash, neverStopping } from '@dovetail/core-ports';
import type { Turns } from '@dovetail/service-kit';

import type { ImageParameters } from './class-images.js';
import type { RegionFacts } from './knowledge.js';
import type { Learnt, LearntCapacity } from './learnt-capacity.js';
import type { UnavailableOfferings } from './unavailable.js';

/**
 * A class as discovery knows it. Its status was found last; the object in the API may not have it
 * yet.
 */
export type DiscoveredClass = {
  readonly nodeClass: NodeClass;
  readonly subnets: readonly Subnet[];
  readonly imageParameters: ImageParameters;
};

type CatalogEntry = DiscoveredClass & {
  readonly revision: string;
  /** The revision of `planned`, before anything was learnt. */
  readonly plannedRevision: string;
  /** The types as the rules of AWS and Kubernetes give them. */
  readonly planned: ReadonlyMap<string, InstanceType>;
  /** The types as their nodes turned out to be. */
  readonly types: ReadonlyMap<string, InstanceType>;
};
/** The types of a class for one set of kubelet settings, as available until `untilMs`. */
type Overlay = {
  readonly base: CatalogEntry;
  readonly sequence: number;
  readonly untilMs: number;
  readonly types: ReadonlyMap<string, InstanceType>;
};

const none: ReadonlyMap<string, InstanceType> = new Map();

/** The parts that a catalog is computed with. */
type ClassCatalogDeps = {
  readonly hash: Hash;
  readonly unavailable: UnavailableOfferings;
  readonly learnt: LearntCapacity;
  readonly nowMs: () => number;
  readonly region: string;
  readonly settings: CapacitySettings;
};

/** The instance types that each node class can boot, with the offerings that are available now. */
export class ClassCatalog implements CatalogView {
  readonly #deps: ClassCatalogDeps;
  readonly #entries = new Map<string, CatalogEntry>();
  /** By class, then by the kubelet settings of a pool's own. */
  readonly #overlays = new Map<string, Map<string, Overlay>>();

  constructor(deps: ClassCatalogDeps) {
    this.#deps = deps;
  }

  get revision(): string {
    return [...this.#entries]
      .sort(([a], [b]) => compareText(a, b))
      .map(([, entry]) => entry.revision)
      .join('.');
  }

  /**
   * Computes a class' types again when anything that they follow from has changed. True when they
   * have. Other work of the process gets its turn in between.
   */
  async update(
    { nodeClass, subnets, imageParameters }: DiscoveredClass,
    region: RegionFacts,
    turns: Pick<Turns, 'give'>,
  ): Promise<boolean> {
    const key = classKey(nodeClass.ref);
    const { vmMemoryOverheadPercent, reservedEnis } = this.#deps.settings;
    const plannedRevision = this.#shortHash({
      family: nodeClass.amiFamily,
      kubelet: nodeClass.kubelet,
      devices: nodeClass.blockDeviceMappings,
      store: nodeClass.instanceStorePolicy,
      found: zonesAndImages(nodeClass.status),
      region: region.revision,
      settings: { vmMemoryOverheadPercent, reservedEnis },
    });
    const held = this.#entries.get(key);
    const planned =
      held?.plannedRevision === plannedRevision
        ? held.planned
        : await this.#typesOf(nodeClass, region, turns);
    return this.#put(key, { nodeClass, subnets, imageParameters, plannedRevision, planned });
  }

  /** Learns from the nodes of a class what its types really hold. Answers what is new. */
  learn(key: string): readonly Learnt[] {
    const entry = this.#entries.get(key);
    if (entry === undefined) return [];
    const learnt = this.#deps.learnt.look(entry.nodeClass, entry.planned);
    if (learnt.length > 0) this.#put(key, entry);
    return learnt;
  }

  /** Puts an entry with all that was learnt of its types. True when it is another than before. */
  #put(key: string, made: Omit<CatalogEntry, 'revision' | 'types'>): boolean {
    const { learnt } = this.#deps;
    const differences = learnt
      .of(made.nodeClass)
      .map(({ instanceType, imageId, difference }) => [instanceType, imageId, difference]);
    const revision =
      differences.length === 0
        ? made.plannedRevision
        : this.#shortHash([made.plannedRevision, differences]);
    const held = this.#entries.get(key);
    const types =
      held?.revision === revision ? held.types : learnt.applied(made.planned, made.nodeClass);
    this.#entries.set(key, { ...made, revision, types });
    if (held?.revision !== revision) this.#overlays.delete(key);
    return held?.revision !== revision;
  }

  #shortHash(content: unknown): string {
    return this.#deps.hash.sha256Hex(canonicalJson(content)).slice(0, 16);
  }

  forget(key: string): void {
    this.#deps.learnt.forget(key);
    this.#entries.delete(key);
    this.#overlays.delete(key);
  }

  discovered(key: string): DiscoveredClass | undefined {
    return this.#entries.get(key);
  }

  /**
   * A class' types and revision as they are published; unavailable offerings are published beside
   * them.
   */
  published(
    key: string,
  ): { readonly revision: string; readonly instanceTypes: readonly InstanceType[] } | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined
      ? undefined
      : { revision: entry.revision, instanceTypes: [...entry.types.values()] };
  }

  typesOf(key: string, kubelet?: KubeletConfiguration): ReadonlyMap<string, InstanceType> {
    const base = this.#entries.get(key);
    if (base === undefined || !base.nodeClass.ready) return none;
    const { unavailable, nowMs } = this.#deps;
    const settings = kubelet === undefined ? '' : canonicalJson(kubelet);
    const held = this.#overlays.get(key)?.get(settings);
    if (
      held !== undefined &&
      held.base.revision === base.revision &&
      held.sequence === unavailable.sequence &&
      nowMs() < held.untilMs
    )
      return held.types;
    const types = new Map(
      typesWithPoolKubelet([...base.types.values()], base.nodeClass, kubelet).map((type) => [
        type.name,
        unavailable.apply(type, nowMs()),
      ]),
    );
    const overlays = this.#overlays.get(key) ?? new Map<string, Overlay>();
    // An overlay of an older base is of no use to any pool.
    for (const [other, overlay] of overlays)
      if (overlay.base.revision !== base.revision) overlays.delete(other);
    this.#overlays.set(
      key,
      overlays.set(settings, {
        base,
        sequence: unavailable.sequence,
        untilMs: unavailable.nextReturnMs(nowMs()) ?? Number.MAX_SAFE_INTEGER,
        types,
      }),
    );
    return types;
  }

  async #typesOf(
    nodeClass: NodeClass,
    region: RegionFacts,
    turns: Pick<Turns, 'give'>,
  ): Promise<ReadonlyMap<string, InstanceType>> {
    const steps = instanceTypesInSteps(nodeClass, {
      region: this.#deps.region,
      ...region,
      isUnavailable: () => false,
      settings: this.#deps.settings,
    });
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) await turns.give(neverStopping);
    return new Map(step.value.types.map((type) => [type.name, type]));
  }
}

/** The part of a class' status that its types follow from: zones and images, not free addresses. */
const zonesAndImages = (status: NodeClassStatus): unknown => ({
  zones: [
    ...new Map(status.subnets.map(({ zone, zoneId }) => [zone, zoneId ?? ''])).entries(),
  ].sort(([a], [b]) => compareText(a, b)),
  images: status.amis.map(({ arch, variant }) => `${arch} ${variant}`).sort(),
});
