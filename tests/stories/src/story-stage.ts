import { type KubeApi, KubeError, kubeResources, type ObjectRef } from '@dovetail/core-ports';
import { catalogTypes, type TwinType } from '@dovetail/sim-cloud';
import { KubeFaults } from '@dovetail/sim-kube';
import { type Death, region, Stage, Workloads } from '@dovetail/sim-stage';

import { runCommand } from './commands.js';
import { Narrator } from './narrator.js';
import {
  defaultSettings,
  type Process,
  type Sabotage,
  type ServiceName,
  serviceNames,
  serviceOf,
  type Settings,
  startService,
} from './services.js';
import type { Scene } from './transcript.js';
import { Troubles } from './troubles.js';

/** Three sizes of two families, so that a reader can follow which is cheapest. */
const fewTypes = catalogTypes(region).filter(({ facts }) =>
  /^(m5|m5a)\.(large|xlarge|2xlarge)$/.test(facts.name),
);

/** A pod that a service deletes outright, instead of evicting it. */
type PodDeletion = { readonly service: ServiceName; readonly ref: ObjectRef };

/** The four services on the twins, in one process under one virtual clock, with a narrator. */
export class StoryStage extends Stage {
  readonly narrator: Narrator;
  readonly workloads: Workloads;
  readonly troubles: Troubles;
  /** Called before a service deletes a pod. */
  onPodDeletion: (deletion: PodDeletion) => void = () => undefined;
  /** The settings of services that start from now on. */
  settings: Settings = defaultSettings;
  /** When a service asked another one for something, in milliseconds since 1970. */
  readonly asked: { readonly service: ServiceName; readonly atMs: number }[] = [];
  /** The rights in Kubernetes that each service has used. */
  readonly usedRights: ReadonlyMap<ServiceName, Set<string>> = new Map(
    serviceNames.map((name) => [name, new Set<string>()]),
  );
  /** Replicas whose writes of Leases fail. */
  readonly leaseless = new Set<string>();
  /** Whether machines that boot become nodes. */
  machinesJoin = true;
  /** The instance types whose machines never become nodes. */
  readonly bootless = new Set<string>();
  readonly #processes = new Map<string, Process>();
  readonly #kubeFaults = new Map<ServiceName, KubeFaults>(
    serviceNames.map((name) => [name, new KubeFaults()]),
  );
  readonly #sabotage: Sabotage | undefined;

  constructor(sabotage?: Sabotage, types: readonly TwinType[] = fewTypes) {
    super({
      types,
      cloud: { bootDelayMs: 30_000, shutdownDelayMs: 5_000 },
      controlPlane: { without: ['nodeLifecycle'] },
      kubelets: { lostAfterMs: 40_000 },
      joins: ({ instanceType }) => this.machinesJoin && !this.bootless.has(instanceType),
    });
    this.#sabotage = sabotage;
    this.narrator = new Narrator(this);
    this.workloads = new Workloads(this);
    this.troubles = new Troubles(this.clock);
  }

  /** Starts a replica of a service, or one of each. */
  start(service: string, replica = service): void {
    if (service === 'services') for (const name of serviceNames) this.start(name);
    else this.#startOne(serviceOf(service), replica);
  }

  #startOne(service: ServiceName, replica: string): void {
    const process = startService(this, service, replica, {
      between: (name, one, kube) => this.#between(name, one, kube),
      settings: this.settings,
      uses: (name, right) => void this.usedRights.get(name)?.add(right),
      asks: (name) => void this.asked.push({ service: name, atMs: this.clock.nowMs() }),
      sabotage: this.#sabotage,
    });
    this.troubles.note(service);
    process.life.stop.addEventListener('abort', () => {
      this.troubles.note(service);
      if (process.life.dead()) this.narrator.died(replica);
    });
    this.#processes.set(replica, process);
  }

  /** Kills a replica now, or around its next effect of this name. */
  kill(replica: string, death?: Death): void {
    const { life } = this.process(replica);
    life.die(death);
    // The dead need no CPU to be gone.
    if (death === undefined) life.wake();
  }

  /** A replica by its name. */
  process(replica: string): Process {
    const process = this.#processes.get(replica);
    if (process === undefined) throw new Error(`no such process: ${replica}`);
    return process;
  }

  /** Every replica that was started, the dead among them. */
  processes(): readonly Process[] {
    return [...this.#processes.values()];
  }

  /** The faults between a service's replicas and the API server. */
  faultsOf(service: string): KubeFaults {
    const faults = this.#kubeFaults.get(serviceOf(service));
    if (faults === undefined) throw new Error(`no such service: ${service}`);
    return faults;
  }

  /** Whether something kept the service from its work since then, in milliseconds since 1970. */
  wasTroubled(service: ServiceName, sinceMs: number): boolean {
    return this.faultsOf(service).pending() || this.troubles.since(service, sinceMs);
  }

  #between(service: ServiceName, replica: string, kube: KubeApi): KubeApi {
    const told: KubeApi = {
      ...kube,
      replace: (resource, object) =>
        resource.plural === kubeResources.leases.plural && this.leaseless.has(replica)
          ? Promise.reject(new KubeError('unavailable', 'ServiceUnavailable: ordered'))
          : kube.replace(resource, object),
      delete: (ref, options) => {
        if (ref.resource.plural === 'pods') this.onPodDeletion({ service, ref });
        return kube.delete(ref, options);
      },
    };
    return this.faultsOf(service).over(told);
  }
}

/** Hears of the rights in Kubernetes that a story's services used. */
export type Usage = (service: ServiceName, right: string) => void;

/** Plays a transcript's commands from the beginning, and returns it with their present output. */
export async function play(
  scenes: readonly Scene[],
  used: Usage = () => undefined,
): Promise<readonly Scene[]> {
  const stage = await new StoryStage().begin();
  const played: Scene[] = [];
  for (const scene of scenes) {
    for (const command of scene.commands) await runCommand(stage, command);
    await stage.advance(0);
    played.push({ ...scene, output: stage.narrator.take() });
  }
  const failures = stage.log.entries.filter(({ level }) => level === 'error');
  for (const [service, rights] of stage.usedRights)
    for (const right of rights) used(service, right);
  stage.end();
  if (failures.length > 0) throw new Error(`a service failed: ${JSON.stringify(failures)}`);
  return played;
}
