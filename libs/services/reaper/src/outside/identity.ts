import {
  type Account,
  type Clock,
  type KubeReads,
  kubeResources,
  type Log,
  type StopSignal,
} from '@dovetail/core-ports';
import { untilDone } from '@dovetail/service-kit';

/** The AWS account and region that the reaper works in. */
export type OwnAccount = { readonly accountId: string; readonly region: string };

type IdentityDeps = {
  readonly kube: Pick<KubeReads, 'get'>;
  /** The same API for work with a deadline, which may wait for our identity. */
  readonly urgentKube?: Pick<KubeReads, 'get'>;
  readonly cloud: Account;
  readonly clock: Clock;
  readonly log: Log;
};

/** Our identity for EC2 and Kubernetes, remembered once it was answered. */
export class ClusterIdentity {
  readonly #deps: IdentityDeps;
  #account: OwnAccount | undefined;
  #uid: string | undefined;

  constructor({ urgentKube, ...deps }: IdentityDeps) {
    this.#deps = { ...deps, kube: urgentKube ?? deps.kube };
  }

  /** Our account and region; undefined until AWS has answered. */
  account(): OwnAccount | undefined {
    return this.#account;
  }

  /**
   * Asks for the account until it is known. Until then EC2's tags alone decide whether an
   * interruption notice is ours.
   */
  async learnAccount(stop: StopSignal): Promise<void> {
    const { cloud } = this.#deps;
    this.#account ??= await untilDone(this.#deps, 'AWS account', () => cloud.identity(), stop);
  }

  /** UID of the kube-system namespace, which instances carry as a tag. Rejects with KubeError. */
  async clusterUid(): Promise<string> {
    this.#uid ??= await this.liveClusterUid();
    return this.#uid;
  }

  /** The same, read live: collection does not rest on what was remembered. */
  async liveClusterUid(): Promise<string> {
    const namespace = await this.#deps.kube.get({
      resource: kubeResources.namespaces,
      name: 'kube-system',
    });
    const uid = namespace?.metadata.uid;
    if (uid === undefined || uid === '')
      throw new Error(
        'the namespace kube-system has no UID, so instances of this cluster cannot be told from others',
      );
    return uid;
  }
}
