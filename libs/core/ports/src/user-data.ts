import type { AmiFamily, KubeletConfiguration } from '@dovetail/core-api';
import type { Taint } from '@dovetail/core-kube-model';

/** What an instance must be told so that it joins the cluster as the node that was planned. */
export type UserDataInput = {
  readonly family: AmiFamily;
  /** The user's own part, as the class has it: shell, MIME, YAML or TOML, by family. */
  readonly userData?: string;
  readonly cluster: {
    readonly name: string;
    readonly endpoint: string;
    /** Base64, as EKS and kubeconfigs have it. */
    readonly certificateAuthority: string;
    /** Needed by AL2023 only. */
    readonly serviceCidr?: string;
    /** The cluster's DNS service; used where the class' kubelet settings name none. */
    readonly dnsIp?: string;
  };
  readonly kubelet: KubeletConfiguration;
  /** The pods that the plan counts on; the kubelet is told, so that node and plan agree. */
  readonly maxPods: number;
  /** The node's labels; those that a kubelet may not set for itself are left out. */
  readonly labels: Readonly<Record<string, string>>;
  /** Taints and startup taints; the unregistered taint is added. */
  readonly taints: readonly Taint[];
  readonly instanceStorePolicy?: 'RAID0';
  /** The image's version where the class pins one (`alias: bottlerocket@1.45.0`); absent: the latest. */
  readonly imageVersion?: string;
};

/** User data ready for EC2, or why there is none: what is wrong with the user's part, in words for the class' status. */
export type RenderedUserData =
  | { readonly ok: true; readonly base64: string; readonly bytes: number }
  | { readonly ok: false; readonly message: string };

/** Makes user data per AMI family. Same input, same bytes: launch templates are named by their content. */
export interface UserDataRenderer {
  render(input: UserDataInput): RenderedUserData;
}
