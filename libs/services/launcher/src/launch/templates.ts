import { tags } from '@dovetail/core-api';
import { launchTemplatePrefix, type LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import type { Clock, Cloud, Log, StopSignal } from '@dovetail/core-ports';

export type TemplatesDeps = {
  readonly cloud: Cloud;
  readonly clock: Clock;
  readonly log: Log;
  readonly clusterName: string;
  readonly idleMs: number;
  /** Names of the classes that exist. */
  readonly classNames: () => ReadonlySet<string>;
  /** Templates that claims without an instance still name. */
  readonly inUse: () => ReadonlySet<string>;
};

const sweepMs = 30_000;
/** EC2 is asked again whether a template is there after this long; between, what was made is taken to be there. */
const trustMs = 10 * 60_000;

/** Launch templates by content hash: made before a fleet names them, and deleted when nobody needs them. */
export class Templates {
  readonly #deps: TemplatesDeps;
  readonly #specs = new Map<string, LaunchTemplateSpec>();
  readonly #madeMs = new Map<string, number>();
  readonly #usedMs = new Map<string, number>();

  constructor(deps: TemplatesDeps) { this.#deps = deps; }

  /** Remembers what a name stands for, so that it can be made (again) when it is needed. */
  learn(specs: readonly LaunchTemplateSpec[]): void {
    for (const spec of specs) this.#specs.set(spec.name, spec);
  }

  /** Makes those of the named templates that are known and not there. `anew`: EC2 said that one is missing. Rejects with CloudError. */
  async ensure(names: readonly string[], options: { readonly anew: boolean }): Promise<boolean> {
    const nowMs = this.#deps.clock.nowMs();
    const known = names.flatMap((name) => this.#specs.get(name) ?? []);
    for (const spec of known) {
      this.#usedMs.set(spec.name, nowMs);
      if (!options.anew && nowMs - (this.#madeMs.get(spec.name) ?? -trustMs) < trustMs) continue;
      await this.#deps.cloud.ensureLaunchTemplate(spec);
      this.#madeMs.set(spec.name, nowMs);
    }
    return known.length === names.length;
  }

  /** Deletes idle templates until `stop`: those of classes that are gone at once, others when they were not used for long. */
  async run(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#deps.clock.sleep(sweepMs, stop);
      if (stop.aborted) return;
      await this.sweep().catch((error: unknown) => this.#deps.log.warn('templates-not-swept', 'idle launch templates could not be deleted, it is tried again', { error: String(error) }));
    }
  }

  async sweep(): Promise<void> {
    const { cloud, clock, clusterName, idleMs, classNames, inUse, log } = this.#deps;
    const tagged = await cloud.launchTemplates({ key: tags.cluster(clusterName), value: 'owned' });
    // Whoever else makes templates for the cluster tags them as well.
    const found = tagged.filter(({ name, tags: own }) => name.startsWith(launchTemplatePrefix) && own[tags.nodeClass] !== undefined);
    const [classes, named] = [classNames(), inUse()];
    for (const template of found) {
      if (named.has(template.name)) continue;
      const orphan = !classes.has(template.tags[tags.nodeClass] ?? '');
      const lastMs = Math.max(template.createdMs, this.#usedMs.get(template.name) ?? 0);
      if (!orphan && clock.nowMs() - lastMs < idleMs) continue;
      await cloud.deleteLaunchTemplate(template.name);
      this.#madeMs.delete(template.name);
      log.info('template-deleted', 'an idle launch template was deleted', { template: template.name, class: template.tags[tags.nodeClass] ?? '' });
    }
  }
}
