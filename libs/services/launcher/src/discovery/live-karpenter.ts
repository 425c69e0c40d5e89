import { recordOf } from '@dovetail/core-kube-model';
import {
  type Clock,
  type KubeObject,
  type KubeReads,
  kubeResources,
  type Log,
  messageOf,
  type StopSignal,
  type Vitals,
} from '@dovetail/core-ports';
import type { EventRecorder } from '@dovetail/service-kit';

/** The API to look in, and the means to tell what was found. */
export type LiveKarpenterDeps = {
  readonly kube: Pick<KubeReads, 'list'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly vitals: Vitals;
};

/** The default of Karpenter's `LEADER_ELECTION_NAME`. Its namespace is that of its release. */
const leaseName = 'karpenter-leader-election';
/**
 * The pause between two looks. It is longer than the time after which Karpenter's leader renews its
 * Lease, so that one which runs has renewed it in between. A longer pause warns later.
 */
const lookMs = 60_000;
/** A look that takes longer is hung: the Kubernetes client ends each request. */
const lookMsMax = 300_000;

const remedy =
  'scale its Deployment to 0: both launch for the same pods, and each retires nodes of the other';

/**
 * Warns while Karpenter's own controller runs in the cluster. It runs if its Lease was renewed
 * between two looks, whatever the clocks say.
 */
export class LiveKarpenter {
  readonly #deps: LiveKarpenterDeps;
  /** When each Lease was last renewed, as its holder wrote it, by the Lease's UID. */
  #renewed: ReadonlyMap<string, string> = new Map();
  #isTold = false;

  constructor(deps: LiveKarpenterDeps) {
    this.#deps = deps;
  }

  /** Looks until `stop`. A look that fails is made again later: nothing else depends on it. */
  async run(stop: StopSignal): Promise<void> {
    const { clock, log, vitals } = this.#deps;
    while (!stop.aborted) {
      await vitals
        .turn('live-karpenter', lookMsMax, () => this.#look())
        .catch((error: unknown) =>
          log.debug(
            'karpenter-not-looked-for',
            `whether Karpenter runs could not be seen: ${messageOf(error)}`,
          ),
        );
      await clock.sleep(lookMs, stop);
    }
  }

  async #look(): Promise<void> {
    const leases = await this.#deps.kube.list(kubeResources.leases, {
      fieldSelector: `metadata.name=${leaseName}`,
    });
    const before = this.#renewed;
    this.#renewed = new Map(leases.map((lease) => [uidOf(lease), renewTimeOf(lease)]));
    const live = leases.filter((lease) => {
      const last = before.get(uidOf(lease));
      return last !== undefined && last !== renewTimeOf(lease);
    });
    for (const lease of live) this.#warn(lease);
    if (live.length === 0 && this.#isTold)
      this.#deps.log.info('karpenter-stopped', 'Karpenter no longer renews its Lease');
    this.#isTold = live.length > 0;
  }

  #warn({ metadata }: KubeObject): void {
    const { log, events } = this.#deps;
    const { name, namespace = '', uid = '' } = metadata;
    const message = `Karpenter runs beside Dovetail, and renews Lease ${namespace}/${name}: ${remedy}`;
    if (!this.#isTold) log.warn('karpenter-runs', message, { namespace, name });
    const about = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name, namespace, uid };
    events.record({ about, type: 'Warning', reason: 'KarpenterRuns', message });
  }
}

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';
const renewTimeOf = (lease: KubeObject): string => String(recordOf(lease['spec'])['renewTime']);
