import { userDataRenderer } from '@dovetail/adapter-aws/user-data';
import { type AdmissionNumber, decodeStateRecord, streamName, subjects } from '@dovetail/contracts';
import { classKey } from '@dovetail/core-cluster';
import {
  type Bus,
  type Cloud,
  type KubeApi,
  type KubeObject,
  kubeResources,
  noVitals,
  type Service,
  type Stopper,
  type Traces,
} from '@dovetail/core-ports';
import { leaseLeadership } from '@dovetail/runtime';
import { conditionsIn, isTrue } from '@dovetail/service-kit';
import { catalogTypes } from '@dovetail/sim-cloud';
import {
  clusterName,
  hash,
  leading,
  Mortal,
  type MortalPorts,
  nodeClassObject,
  nodePoolObject,
  region,
  Stage,
  type StageOptions,
} from '@dovetail/sim-stage';

import { defaultLauncherConfig, type LauncherConfig } from '../config.js';
import { createLauncher } from '../launcher.js';
import { SoloPlanner } from './solo-planner.js';

/** Enough to choose among, few enough to plan in a moment. */
const fewTypes = catalogTypes(region).filter(({ facts }) =>
  /^(c|m|r)(5|5a|6i)\.(large|xlarge|2xlarge|4xlarge)$/.test(facts.name),
);

export type LauncherPorts = MortalPorts & {
  readonly kube: KubeApi;
  readonly cloud: Cloud;
  readonly bus: Bus;
};
export type RunningLauncher = { readonly launcher: Service; readonly life: Mortal<LauncherPorts> };

export type LauncherStageOptions = StageOptions & { readonly leaseMs?: number };

/** A stage for launchers, with a planner that plays pod-watcher and solvers. */
export class LauncherStage extends Stage {
  readonly planner: SoloPlanner;
  readonly #leaseMs: number;
  readonly #running: Service[] = [];
  readonly #hooks: { readonly plural: string; readonly act: () => Promise<void> }[] = [];

  constructor(options: LauncherStageOptions = {}) {
    super({ types: fewTypes, ...options, cloud: { limits: 'none', ...options.cloud } });
    this.#leaseMs = options.leaseMs ?? 15_000;
    this.planner = new SoloPlanner(this);
  }

  override async begin(): Promise<this> {
    await super.begin();
    await this.planner.begin();
    return this;
  }

  /** Starts a launcher. It leads when the lease is free. */
  launcher(
    name: string,
    change: {
      readonly ports?: LauncherPorts;
      readonly life?: Mortal<LauncherPorts>;
      readonly config?: Partial<LauncherConfig>;
      /** Aborted when the launcher is to lose its Lease; without it a Lease is campaigned for. */
      readonly office?: Stopper;
      /** Where its spans go; without it, it traces nothing. */
      readonly traces?: Traces;
    } = {},
  ): RunningLauncher {
    const life =
      change.life ?? new Mortal(change.ports ?? this.ports(), undefined, this.stop.signal);
    const deps = {
      ...life.ports,
      clock: this.clock,
      log: this.log,
      metrics: this.metrics,
      scraped: this.metrics,
      vitals: noVitals,
      hash,
      userData: userDataRenderer,
      ...(change.traces === undefined ? {} : { traces: change.traces }),
    };
    const { office } = change;
    const leadership =
      office === undefined
        ? leaseLeadership({
            ...deps,
            namespace: 'kube-system',
            name: 'dovetail-launcher',
            identity: name,
            durationMs: this.#leaseMs,
          })
        : leading(1, office);
    const launcher = createLauncher({ ...deps, leadership }, { ...testConfig(), ...change.config });
    void launcher.run(life.stop);
    this.#running.push(launcher);
    return { launcher, life };
  }

  /**
   * The ports of one launcher: a connection to the bus of its own, and patches that a test can wait
   * for.
   */
  ports(): LauncherPorts {
    const patch: KubeApi['patch'] = async (ref, ...rest) => {
      const index = this.#hooks.findIndex((hook) => hook.plural === ref.resource.plural);
      if (index >= 0) await this.#hooks.splice(index, 1)[0]?.act();
      return this.kube.patch(ref, ...rest);
    };
    return { kube: kubeWith(this.kube, { patch }), cloud: this.cloud, bus: this.connect() };
  }

  launchers(): readonly Service[] {
    return this.#running;
  }

  /**
   * Acts once, just before the launchers' next patch of this resource reaches the API server.
   * Answers how to wait for it.
   */
  beforePatch(plural: string, act: () => Promise<void>): () => Promise<boolean> {
    let done = false;
    this.#hooks.push({
      plural,
      act: async () => {
        await act();
        done = true;
      },
    });
    return () => this.until(`a patch of ${plural}`, () => done);
  }

  /** The number of the last admission, as the state feed has it. */
  async head(): Promise<AdmissionNumber | undefined> {
    const subject = subjects.state(clusterName, 'admission', 'head');
    const message = await this.bus
      .lastMessage(streamName(clusterName, 'state'), subject)
      .catch(() => undefined);
    const read = message === undefined ? undefined : decodeStateRecord(message.payload);
    return read?.ok === true && read.value.kind === 'set' && read.value.state.kind === 'admission'
      ? read.value.state.value
      : undefined;
  }

  /** Waits for a ready claim whose instance is named after it: the last that a launch does. */
  launched(): Promise<boolean> {
    const isDone = (claim: KubeObject): boolean =>
      isTrue(conditionsIn(claim), 'Ready') &&
      claim.metadata.annotations?.['karpenter.k8s.aws/tagged'] === 'true';
    return this.until(
      'a ready claim whose instance is named after it',
      () => this.list(kubeResources.nodeClaims).some(isDone),
      60_000,
    );
  }

  /** A NodePool and its class, whose spec may differ from the default one. */
  async readyPool(classSpec: object = {}): Promise<void> {
    await this.kube.create(kubeResources.ec2NodeClasses, nodeClassObject('default', classSpec));
    await this.kube.create(kubeResources.nodePools, nodePoolObject());
  }

  /** Waits until a plan can be made: the pool is ready and its class' catalog was published. */
  planningPossible(): Promise<boolean> {
    const { cluster, catalog } = this.planner;
    return this.until(
      'a ready pool and its catalog',
      async () =>
        (await this.head()) !== undefined &&
        [...cluster.pools.values()].some(
          (pool) => pool.ready && catalog.typesOf(classKey(pool.classRef)).size > 0,
        ),
    );
  }
}

const testConfig = (): LauncherConfig => ({
  clusterName,
  region,
  ...defaultLauncherConfig,
  defaultInstanceProfile: `KarpenterNodeInstanceProfile-${clusterName}`,
});

/** A stage that has begun. */
export const launcherStage = (options: LauncherStageOptions = {}): Promise<LauncherStage> =>
  new LauncherStage(options).begin();

/**
 * The same Kubernetes API with some of its calls replaced. It may be a class, which cannot be
 * spread.
 */
export function kubeWith(kube: KubeApi, replaced: Partial<KubeApi>): KubeApi {
  return new Proxy(kube, {
    get: (target, name: keyof KubeApi) => {
      const call = replaced[name] ?? target[name].bind(target);
      return call as unknown;
    },
  });
}
