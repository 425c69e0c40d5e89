import {
  canonicalJson,
  catalogFor,
  catalogRegions,
  type ClusterIdentity,
  type InstanceTypeFacts,
  type PriceBook,
  priceBookOf,
  type PriceQuote,
} from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import {
  type Clock,
  CloudError,
  type EksClusters,
  type Hash,
  type InstanceCatalog,
  type KubeDiscovery,
  type KubeReads,
  kubeResources,
  type Log,
  type Metrics,
  type Prices,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';

import type { LauncherConfig } from '../config.js';

/** The readings of AWS and the cluster that knowledge is made of. */
export type KnowledgeDeps = {
  readonly cloud: InstanceCatalog & Prices & EksClusters;
  readonly kube: KubeReads & KubeDiscovery;
  readonly clock: Clock;
  readonly hash: Hash;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly vitals: Vitals;
};

/** A reading that lasts longer is hung: all pages of all retries take a few minutes. */
const readMsMax = 900_000;

/** The facts of the cluster that nodes boot with and images are chosen by. */
export type ClusterFacts = {
  readonly identity: ClusterIdentity;
  readonly endpoint: string;
  readonly certificateAuthority: string;
  readonly serviceCidr?: string;
  readonly dnsIp?: string;
  /** `1.34`. */
  readonly kubernetesVersion: string;
};

/** The region's instance types and prices. The revision names the content. */
export type RegionFacts = {
  readonly facts: readonly InstanceTypeFacts[];
  readonly zones: ReadonlyMap<string, readonly string[]>;
  readonly prices: PriceBook;
  readonly revision: string;
};

/**
 * Facts that are slow to ask for and slow to change: instance types, prices and the cluster's own.
 * It runs on every replica, so that a successor starts warm.
 */
export class Knowledge {
  readonly #deps: KnowledgeDeps;
  readonly #config: LauncherConfig;
  readonly #listeners = new Set<() => void>();
  #types:
    | {
        readonly facts: readonly InstanceTypeFacts[];
        readonly zones: ReadonlyMap<string, readonly string[]>;
        readonly revision: string;
      }
    | undefined;
  #quotes:
    | {
        readonly quotes: readonly PriceQuote[];
        readonly prices: PriceBook;
        readonly revision: string;
      }
    | undefined;
  #cluster: ClusterFacts | undefined;

  constructor(deps: KnowledgeDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  get cluster(): ClusterFacts | undefined {
    return this.#cluster;
  }

  /** Undefined until types were read once and prices were asked for once. */
  get region(): RegionFacts | undefined {
    if (this.#types === undefined || this.#quotes === undefined) return undefined;
    return {
      facts: this.#types.facts,
      zones: this.#types.zones,
      prices: this.#quotes.prices,
      revision: `${this.#types.revision}.${this.#quotes.revision}`,
    };
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Refreshes each fact at its own pace until `stop`. A failure is logged and tried again. */
  async run(stop: StopSignal): Promise<void> {
    const { discovery } = this.#config;
    await Promise.all([
      this.#repeat(
        'instance-types',
        discovery.instanceTypeRefreshMs,
        () => this.#readTypes(),
        stop,
      ),
      this.#repeat('prices', discovery.priceRefreshMs, () => this.#readPrices(), stop),
      this.#repeat('cluster', discovery.clusterRefreshMs, () => this.#readCluster(), stop),
    ]);
  }

  async #repeat(
    what: string,
    everyMs: number,
    read: () => Promise<void>,
    stop: StopSignal,
  ): Promise<void> {
    const { clock, log, metrics } = this.#deps;
    while (!stop.aborted) {
      let waitMs = everyMs;
      try {
        await this.#deps.vitals.turn(`discovery-${what}`, readMsMax, read);
      } catch (error) {
        waitMs = Math.min(everyMs, this.#config.discovery.retryMs);
        log.warn(
          'discovery-failed',
          `${what} could not be read; trying again in ${waitMs / 1000} s`,
          {
            what,
            error: String(error),
            ...(error instanceof CloudError ? { code: error.code, awsCode: error.awsCode } : {}),
          },
        );
        metrics.count('dovetail_discovery_failures_total', { what });
      }
      // After a failure too: bundled prices may stand in for those that could not be read.
      for (const listener of this.#listeners) listener();
      await clock.sleep(waitMs, stop);
    }
  }

  async #readTypes(): Promise<void> {
    const [facts, zones] = await Promise.all([
      this.#deps.cloud.instanceTypes(),
      this.#deps.cloud.instanceTypeZones(),
    ]);
    this.#types = {
      facts,
      zones,
      revision: this.#revisionOf([facts, [...zones].sort(([a], [b]) => compareText(a, b))]),
    };
  }

  /**
   * Spot prices may be missing (no spot in the region, or no right to ask). On-demand prices then
   * stand in, marked as estimated. On-demand prices that never came are the catalog's until then.
   */
  async #readPrices(): Promise<void> {
    const [onDemand] = await Promise.allSettled([this.#deps.cloud.onDemandPrices()]);
    const spot = await this.#readSpotPrices();
    if (onDemand.status === 'fulfilled') return this.#believe([...onDemand.value, ...spot]);
    this.#believe([...(this.#held('on-demand') ?? bundledPrices(this.#config.region)), ...spot]);
    throw onDemand.reason;
  }

  async #readSpotPrices(): Promise<readonly PriceQuote[]> {
    try {
      return await this.#deps.cloud.spotPrices();
    } catch (error) {
      this.#deps.log.warn(
        'spot-prices-missing',
        'spot prices could not be read; on-demand prices stand in for them',
        { error: String(error) },
      );
      return this.#held('spot') ?? [];
    }
  }

  /** The prices of this kind that were known before; undefined when none were asked for. */
  #held(capacityType: PriceQuote['capacityType']): readonly PriceQuote[] | undefined {
    return this.#quotes?.quotes.filter((quote) => quote.capacityType === capacityType);
  }

  #believe(quotes: readonly PriceQuote[]): void {
    this.#quotes = { quotes, prices: priceBookOf(quotes), revision: this.#revisionOf(quotes) };
  }

  async #readCluster(): Promise<void> {
    const { cloud, kube } = this.#deps;
    const { clusterName, clusterEndpoint, clusterCa } = this.#config;
    const [info, namespace, dns, version] = await Promise.all([
      cloud.clusterInfo(clusterName),
      kube.get({ resource: kubeResources.namespaces, name: 'kube-system' }),
      kube.get({ resource: kubeResources.services, name: 'kube-dns', namespace: 'kube-system' }),
      kube.serverVersion(),
    ]);
    const uid = namespace?.metadata.uid;
    if (uid === undefined)
      throw new Error(
        'the namespace kube-system does not exist: its UID tells the cluster from others of its name',
      );
    const endpoint = clusterEndpoint ?? info?.endpoint;
    const certificateAuthority = clusterCa ?? info?.certificateAuthority;
    if (endpoint === undefined || certificateAuthority === undefined)
      throw new Error(
        `EKS knows no cluster ${clusterName}: set the cluster's endpoint and CA, or its name`,
      );
    const dnsIp = (dns?.['spec'] as { readonly clusterIP?: string } | undefined)?.clusterIP;
    this.#cluster = {
      identity: { name: clusterName, uid },
      endpoint,
      certificateAuthority,
      kubernetesVersion: info?.version ?? `${version.major}.${version.minor}`,
      ...(info === undefined ? {} : { serviceCidr: info.serviceCidr }),
      ...(dnsIp === undefined || dnsIp === 'None' ? {} : { dnsIp }),
    };
  }

  #revisionOf(value: unknown): string {
    return this.#deps.hash.sha256Hex(canonicalJson(value)).slice(0, 12);
  }
}

/** The region whose prices the catalog knows from a public list. */
const listedRegion = 'us-east-1';

/** The catalog's on-demand prices, all marked as estimated: they may be old. */
function bundledPrices(region: string): readonly PriceQuote[] {
  const known = catalogRegions().includes(region) ? region : listedRegion;
  return catalogFor(known).flatMap(({ facts, onDemandPriceMicrosPerHour: priceMicrosPerHour }) =>
    priceMicrosPerHour === undefined
      ? []
      : [
          {
            instanceType: facts.name,
            capacityType: 'on-demand' as const,
            priceMicrosPerHour,
            estimated: true,
          },
        ],
  );
}
