import { type NodeClaim, poolKey } from '@dovetail/core-api';
import { classKey, type Cluster, isUnpaired, typesOfClaim } from '@dovetail/core-cluster';
import { at } from '@dovetail/core-invariant';

import type { ClassCatalog } from '../discovery/class-catalog.js';
import type { Knowledge } from '../discovery/knowledge.js';
import { buildRequest, type BuiltRequest, type RequestDeps } from './request.js';
import type { SubnetUse } from './subnet-use.js';
import type { Templates } from './templates.js';

/** The knowledge of classes, types and templates that requests are made of. */
export type RequestSourceDeps = RequestDeps & {
  readonly cluster: Cluster;
  readonly catalog: ClassCatalog;
  readonly knowledge: Knowledge;
  readonly templates: Templates;
  readonly subnetUse: SubnetUse;
};

/**
 * Builds the fleet requests of equal claims from what is known now, and makes their templates
 * known.
 */
export class RequestSource {
  readonly #deps: RequestSourceDeps;
  readonly #typesMax: number;

  constructor(deps: RequestSourceDeps, options: { readonly typesMax: number }) {
    this.#deps = deps;
    this.#typesMax = options.typesMax;
  }

  /**
   * Undefined while the region, the cluster or the claims' class is not known yet. Invariant: at
   * least one claim.
   */
  build(claims: readonly NodeClaim[]): BuiltRequest | undefined {
    const built = this.#built(claims);
    if (built?.ok === true) this.#takeAddresses(claims, built);
    return built;
  }

  /**
   * Makes the templates of an intent known again after a crash. A request for its claims, built
   * now, most likely names the same templates.
   */
  relearnTemplates(carriers: readonly NodeClaim[]): void {
    const unpaired = carriers.filter(isUnpaired);
    if (unpaired.length > 0) this.#built(unpaired);
  }

  #built(claims: readonly NodeClaim[]): BuiltRequest | undefined {
    const built = this.#build(claims);
    if (built?.ok === true) this.#deps.templates.learn(built.templates);
    return built;
  }

  /** A node takes at most an address for each of its pods; Karpenter counts the same. */
  #takeAddresses(
    claims: readonly NodeClaim[],
    { request }: BuiltRequest & { readonly ok: true },
  ): void {
    const { catalog, cluster, subnetUse } = this.#deps;
    const first = at(claims, 0);
    const subnets = catalog.discovered(classKey(first.classRef))?.subnets ?? [];
    const types = typesOfClaim(catalog, cluster, first);
    const overrides = request.configs.flatMap((config) => config.overrides);
    for (const subnetId of new Set(overrides.map((override) => override.subnetId))) {
      const pods = overrides
        .filter((override) => override.subnetId === subnetId)
        .map(({ instanceType }) => types.get(instanceType)?.capacity['pods'] ?? 1);
      subnetUse.take(subnets, subnetId, claims.length * Math.min(...pods));
    }
  }

  #build(claims: readonly NodeClaim[]): BuiltRequest | undefined {
    const { cluster, catalog, knowledge } = this.#deps;
    const first = at(claims, 0);
    if (knowledge.cluster === undefined || knowledge.region === undefined) return undefined;
    const key = classKey(first.classRef);
    const row = cluster.nodeClasses.one('key', key);
    if (row === undefined || row.deletionMs !== undefined)
      return { ok: false, kind: 'capacity', message: `${key} is gone or being deleted` };
    const discovered = catalog.discovered(key);
    if (discovered === undefined) return undefined;
    if (!discovered.nodeClass.ready)
      return { ok: false, kind: 'class', message: `${key} is not ready` };
    const pool = cluster.pools.one('key', poolKey(first.pool));
    const { maxPriceMicrosPerHour, kubelet } = pool ?? {};
    return buildRequest(this.#deps, {
      claims,
      discovered: { ...discovered, subnets: this.#deps.subnetUse.free(discovered.subnets) },
      types: typesOfClaim(catalog, cluster, first),
      cluster: knowledge.cluster,
      typesMax: this.#typesMax,
      ...(maxPriceMicrosPerHour === undefined ? {} : { maxPriceMicrosPerHour }),
      ...(kubelet === undefined ? {} : { poolKubelet: kubelet }),
    });
  }
}
