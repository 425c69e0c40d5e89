import { kubeResources } from '@dovetail/core-ports';
import type { ReaperDeps } from './deps.js';

/** Who we are to EC2 and to Kubernetes, asked once and remembered when it was answered. */
export class ClusterIdentity {
  readonly #deps: Pick<ReaperDeps, 'kube' | 'cloud'>;
  #account: { readonly accountId: string; readonly region: string } | undefined;
  #uid: string | undefined;

  constructor(deps: Pick<ReaperDeps, 'kube' | 'cloud'>) { this.#deps = deps; }

  async account(): Promise<{ readonly accountId: string; readonly region: string }> {
    this.#account ??= await this.#deps.cloud.identity();
    return this.#account;
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
