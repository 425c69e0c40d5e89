import { kubeResources, type StopSignal } from '@dovetail/core-ports';
import type { ReaperDeps } from './deps.js';

export type Account = { readonly accountId: string; readonly region: string };

/** Who we are to EC2 and to Kubernetes, remembered once it was answered. */
export class ClusterIdentity {
  readonly #deps: Pick<ReaperDeps, 'kube' | 'cloud' | 'clock' | 'log'>;
  #account: Account | undefined;
  #uid: string | undefined;

  constructor(deps: Pick<ReaperDeps, 'kube' | 'cloud' | 'clock' | 'log'>) { this.#deps = deps; }

  /** Our account and region; undefined while AWS has not said. */
  account(): Account | undefined { return this.#account; }

  /** Asks for the account until it is known. */
  async learnAccount(retryMs: number, stop: StopSignal): Promise<void> {
    const { cloud, clock, log } = this.#deps;
    while (!stop.aborted && this.#account === undefined) {
      try {
        this.#account = await cloud.identity();
      } catch (error) {
        log.warn('identity-unknown', `AWS does not say which account this is (${String(error)}): interruption notices are judged by EC2's answers alone until it does`);
        await clock.sleep(retryMs, stop);
      }
    }
  }

  /** UID of the kube-system namespace, which instances carry as a tag. */
  async clusterUid(): Promise<string> {
    this.#uid ??= await this.liveClusterUid();
    return this.#uid;
  }

  /** Asked anew: what collection rests on is not remembered. */
  async liveClusterUid(): Promise<string> {
    const namespace = await this.#deps.kube.get({ resource: kubeResources.namespaces, name: 'kube-system' });
    const uid = namespace?.metadata.uid;
    if (uid === undefined || uid === '') throw new Error('the namespace kube-system has no UID: this is no API server that instances can be told apart by');
    return uid;
  }
}
