import { catalogTypes } from '@dovetail/sim-cloud';
import { type Death, region, Stage, Workloads } from '@dovetail/sim-stage';

import { runCommand } from './commands.js';
import { Narrator } from './narrator.js';
import {
  type Process,
  type Sabotage,
  type ServiceName,
  serviceNames,
  startService,
} from './services.js';
import type { Scene } from './transcript.js';

/** Three sizes of two families, so that a reader can follow which is cheapest. */
const fewTypes = catalogTypes(region).filter(({ facts }) =>
  /^(m5|m5a)\.(large|xlarge|2xlarge)$/.test(facts.name),
);

/** The four services on the twins, in one process under one virtual clock, with a narrator. */
export class StoryStage extends Stage {
  readonly narrator: Narrator;
  readonly workloads: Workloads;
  readonly #processes = new Map<string, Process>();

  readonly #sabotage: Sabotage | undefined;

  constructor(sabotage?: Sabotage) {
    super({
      types: fewTypes,
      cloud: { bootDelayMs: 30_000, shutdownDelayMs: 5_000 },
      controlPlane: { without: ['nodeLifecycle'] },
      kubelets: { lostAfterMs: 40_000 },
    });
    this.#sabotage = sabotage;
    this.narrator = new Narrator(this);
    this.workloads = new Workloads(this);
  }

  /** Starts a replica of a service, or one of each. */
  start(service: string, replica = service): void {
    if (service === 'services') for (const name of serviceNames) this.start(name);
    else if (!serviceNames.includes(service as ServiceName))
      throw new Error(`no such service: ${service}`);
    else this.#startOne(service as ServiceName, replica);
  }

  #startOne(service: ServiceName, replica: string): void {
    const process = startService(this, service, replica, this.#sabotage);
    process.stop.addEventListener('abort', () => {
      if (process.dead()) this.narrator.died(replica);
    });
    this.#processes.set(replica, process);
  }

  /** Kills a replica now, or around its next effect of this name. */
  kill(replica: string, death?: Death): void {
    const process = this.#processes.get(replica);
    if (process === undefined) throw new Error(`no such process: ${replica}`);
    process.die(death);
  }
}

/** Plays a transcript's commands from the beginning, and returns it with their present output. */
export async function play(scenes: readonly Scene[]): Promise<readonly Scene[]> {
  const stage = await new StoryStage().begin();
  const played: Scene[] = [];
  for (const scene of scenes) {
    for (const command of scene.commands) await runCommand(stage, command);
    await stage.advance(0);
    played.push({ ...scene, output: stage.narrator.take() });
  }
  const failures = stage.log.entries.filter(({ level }) => level === 'error');
  stage.end();
  if (failures.length > 0) throw new Error(`a service failed: ${JSON.stringify(failures)}`);
  return played;
}
