import { tags } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import { launchTemplatePrefix, type LaunchTemplateSpec } from '@dovetail/core-ec2-model';
import {
  type Clock,
  type LaunchTemplates,
  type Log,
  messageOf,
  type Metrics,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import { inParallel } from '@dovetail/service-kit';

import type { UnpairedClaims } from './unpaired-claims.js';

/** The ports and facts that `Templates` works with. */
export type TemplatesDeps = {
  readonly cloud: LaunchTemplates;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'set' | 'remove'>;
  readonly vitals: Vitals;
  readonly cluster: Cluster;
  readonly unpaired: UnpairedClaims;
  readonly clusterName: string;
  /** A template is deleted this long after its last use. */
  readonly idleMs: number;
};

/** How often idle templates are looked for. It need not be often: EC2 bills nothing for them. */
const sweepMs = 30_000;
/** A sweep that lasts longer is hung: it makes a call for each template, at EC2's pace. */
const sweepMsMax = 3_600_000;
/** A template that was made is trusted to exist for this long; then EC2 is asked again. */
const trustMs = 10 * 60_000;

/** The bytes that base64 text stands for. */
const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);

/**
 * Launch templates, named by the hash of their content: made before a fleet names them, deleted
 * when idle.
 */
export class Templates {
  readonly #deps: TemplatesDeps;
  /** By name. */
  readonly #specs = new Map<string, LaunchTemplateSpec>();
  readonly #madeMs = new Map<string, number>();
  readonly #usedMs = new Map<string, number>();
  /** Classes whose user data is shown in the metrics. */
  readonly #measured = new Set<string>();

  constructor(deps: TemplatesDeps) {
    this.#deps = deps;
  }

  /** Remembers the content of templates, so that they can be made when they are needed. */
  learn(specs: readonly LaunchTemplateSpec[]): void {
    for (const spec of specs) {
      this.#specs.set(spec.name, spec);
      this.#usedMs.set(spec.name, this.#deps.clock.nowMs());
    }
  }

  /**
   * Makes those of the named templates that are known and may not exist. `anew`: EC2 said that one
   * is missing. Answers whether all of them are known. Rejects with CloudError.
   */
  async ensure(names: readonly string[], options: { readonly anew: boolean }): Promise<boolean> {
    const nowMs = this.#deps.clock.nowMs();
    const known = names.flatMap((name) => this.#specs.get(name) ?? []);
    for (const spec of known) {
      this.#usedMs.set(spec.name, nowMs);
      if (!options.anew && nowMs - (this.#madeMs.get(spec.name) ?? -trustMs) < trustMs) continue;
      this.#measure(spec);
      if (await this.#deps.cloud.ensureLaunchTemplate(spec)) this.#tellMade(spec);
      this.#madeMs.set(spec.name, nowMs);
    }
    return known.length === names.length;
  }

  /** Shows the size of the user data before EC2 is asked, which refuses what is too large. */
  #measure({ tags: own, userDataBase64 }: LaunchTemplateSpec): void {
    const nodeclass = own[tags.nodeClass];
    if (nodeclass === undefined) return;
    this.#measured.add(nodeclass);
    const bytes = bytesOf(userDataBase64);
    this.#deps.metrics.set('karpenter_ec2nodeclasses_userdata_bytes', bytes, { nodeclass });
  }

  /** Says what was made, in the words of Karpenter before v0.32. */
  #tellMade({ name, imageId, tags: own }: LaunchTemplateSpec): void {
    this.#deps.log.info('template-created', `Created launch template ${name}`, {
      template: name,
      class: own[tags.nodeClass] ?? '',
      image: imageId,
    });
  }

  /** Sweeps idle templates until `stop`. */
  async run(stop: StopSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#deps.clock.sleep(sweepMs, stop);
      if (stop.aborted) return;
      const { vitals, log } = this.#deps;
      await vitals
        .turn('templates', sweepMsMax, () => this.sweep())
        .catch((error: unknown) =>
          log.warn(
            'templates-not-swept',
            `deleting idle launch templates failed: ${messageOf(error)}; trying again`,
          ),
        );
    }
  }

  /**
   * Deletes templates of classes that are gone, and those that were not used for long. Rejects with
   * CloudError.
   */
  async sweep(): Promise<void> {
    const { cloud, clock, clusterName, idleMs, cluster, log } = this.#deps;
    const tagged = await cloud.launchTemplates({ key: tags.cluster(clusterName), value: 'owned' });
    // Others who make templates for the cluster tag them as well; ours have our prefix.
    const found = tagged.filter(
      ({ name, tags: own }) =>
        name.startsWith(launchTemplatePrefix) && own[tags.nodeClass] !== undefined,
    );
    const classes = new Set([...cluster.nodeClasses.values()].map(({ ref }) => ref.name));
    for (const nodeclass of this.#measured) {
      if (classes.has(nodeclass)) continue;
      this.#measured.delete(nodeclass);
      this.#deps.metrics.remove('karpenter_ec2nodeclasses_userdata_bytes', { nodeclass });
    }
    const inUse = this.#deps.unpaired.templates();
    this.#forgetIdle(inUse);
    // One that EC2 refuses to delete keeps no other.
    await inParallel(found, 1, async (template) => {
      if (inUse.has(template.name)) return;
      const orphan = !classes.has(template.tags[tags.nodeClass] ?? '');
      const lastMs = Math.max(template.createdMs, this.#usedMs.get(template.name) ?? 0);
      if (!orphan && clock.nowMs() - lastMs < idleMs) return;
      await cloud.deleteLaunchTemplate(template.name);
      this.#madeMs.delete(template.name);
      log.info('template-deleted', 'an idle launch template was deleted', {
        template: template.name,
        class: template.tags[tags.nodeClass] ?? '',
      });
    });
  }

  /** A template holds its user data, and each image or setting makes another one. */
  #forgetIdle(inUse: ReadonlySet<string>): void {
    const { clock, idleMs } = this.#deps;
    for (const [name, usedMs] of this.#usedMs) {
      if (inUse.has(name) || clock.nowMs() - usedMs < idleMs) continue;
      for (const held of [this.#specs, this.#madeMs, this.#usedMs]) held.delete(name);
    }
  }
}
