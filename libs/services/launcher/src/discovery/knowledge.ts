import { canonicalJson, type InstanceTypeFacts, type PriceBook } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import type { Hash, InstanceCatalog, Prices, StopSignal } from '@dovetail/core-ports';

import type { LauncherConfig } from '../config.js';
import { type ClusterFacts, type ClusterFactsDeps, readClusterFacts } from './cluster-facts.js';
import { confirmed } from './confirmed.js';
import { reportCluster, reportTypes } from './findings-report.js';
import { keepFresh, type RefreshDeps, type Refreshed } from './refresh.js';
import { RegionPrices } from './region-prices.js';

/** The readings of AWS and the cluster that knowledge is made of. */
export type KnowledgeDeps = RefreshDeps &
  Pick<ClusterFactsDeps, 'kube'> & {
    readonly cloud: InstanceCatalog & Prices & ClusterFactsDeps['cloud'];
    readonly hash: Hash;
  };

/** The region's instance types and prices. The revision names the content. */
export type RegionFacts = {
  readonly facts: readonly InstanceTypeFacts[];
  readonly zones: ReadonlyMap<string, readonly string[]>;
  readonly prices: PriceBook;
  readonly revision: string;
};

type TypesAnswer = Pick<RegionFacts, 'facts' | 'zones'>;

/** Whether an answer names a known type, or a zone of it, no more. */
function lacksTypes({ facts, zones }: TypesAnswer, known: TypesAnswer | undefined): boolean {
  const names = new Set(facts.map(({ name }) => name));
  return (
    known?.facts.some(({ name }) => !names.has(name)) === true ||
    [...(known?.zones ?? [])].some(([name, held]) =>
      held.some((zone) => zones.get(name)?.includes(zone) !== true),
    )
  );
}

/**
 * Facts that are slow to ask for and slow to change: instance types, prices and the cluster's own.
 * It runs on every replica, so that a successor starts warm.
 */
export class Knowledge {
  readonly #deps: KnowledgeDeps;
  readonly #config: LauncherConfig;
  readonly #listeners = new Set<() => void>();
  readonly #prices: RegionPrices;
  #types: Omit<RegionFacts, 'prices'> | undefined;
  #cluster: ClusterFacts | undefined;

  constructor(deps: KnowledgeDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#prices = new RegionPrices(deps, config);
  }

  get cluster(): ClusterFacts | undefined {
    return this.#cluster;
  }

  /** Undefined until types were read once and prices were asked for once. */
  get region(): RegionFacts | undefined {
    const { believed } = this.#prices;
    if (this.#types === undefined || believed === undefined) return undefined;
    return {
      facts: this.#types.facts,
      zones: this.#types.zones,
      prices: believed.prices,
      revision: `${this.#types.revision}.${believed.revision}`,
    };
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Refreshes each fact at its own pace until `stop`. A failure is told and tried again. */
  async run(stop: StopSignal): Promise<void> {
    const { discovery } = this.#config;
    // After a failure too: bundled prices may stand in for those that could not be read.
    const onRead = (): void => {
      for (const listener of this.#listeners) listener();
    };
    const facts: readonly Omit<Refreshed, 'onRead'>[] = [
      {
        what: 'instance-types',
        everyMs: discovery.instanceTypeRefreshMs,
        read: () => this.#readTypes(),
        isKnown: () => this.#types !== undefined,
      },
      {
        what: 'prices',
        everyMs: discovery.priceRefreshMs,
        read: () => this.#prices.read(),
        isKnown: () => this.#prices.believed !== undefined,
      },
      {
        what: 'cluster',
        everyMs: discovery.clusterRefreshMs,
        read: () => this.#readCluster(),
        isKnown: () => this.#cluster !== undefined,
      },
    ];
    await Promise.all(
      facts.map((fact) => keepFresh(this.#deps, { ...fact, onRead }, discovery, stop)),
    );
  }

  async #readTypes(): Promise<void> {
    const { facts, zones } = await confirmed(
      () => this.#askForTypes(),
      (answer) => lacksTypes(answer, this.#types),
    );
    const content = [facts, [...zones].sort(([a], [b]) => compareText(a, b))];
    const revision = this.#deps.hash.sha256Hex(canonicalJson(content)).slice(0, 12);
    const isNew = this.#types?.revision !== revision;
    this.#types = { facts, zones, revision };
    reportTypes(this.#deps.log, this.#types, isNew);
  }

  /** Rejects an empty answer: every region has types, so AWS has not answered the question. */
  async #askForTypes(): Promise<TypesAnswer> {
    const [facts, zones] = await Promise.all([
      this.#deps.cloud.instanceTypes(),
      this.#deps.cloud.instanceTypeZones(),
    ]);
    if (facts.length > 0 && zones.size > 0) return { facts, zones };
    throw new Error(
      `EC2 named ${facts.length} instance types, and zones of ${zones.size}: an empty answer is not believed`,
    );
  }

  async #readCluster(): Promise<void> {
    const { facts, failure } = await readClusterFacts(this.#deps, this.#config, this.#cluster);
    const before = this.#cluster;
    this.#cluster = facts;
    reportCluster(this.#deps.log, before, facts);
    if (failure !== undefined) throw failure;
  }
}
