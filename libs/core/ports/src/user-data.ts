import type { AmiFamily, KubeletConfiguration } from '@dovetail/core-api';
import type { Taint } from '@dovetail/core-kube-model';

/** The settings with which an instance joins the cluster as the node that was planned. */
export type UserDataInput = {
  readonly family: AmiFamily;
  /** The user's own part from the class: shell, MIME, YAML or TOML, depending on the family. */
  readonly userData?: string;
  readonly cluster: {
    readonly name: string;
    readonly endpoint: string;
    /** Base64, as in EKS and in kubeconfigs. */
    readonly certificateAuthority: string;
    /** Needed by AL2023 only. */
    readonly serviceCidr?: string;
    /** The address of the cluster's DNS service, for classes whose kubelet settings name none. */
    readonly dnsIp?: string;
  };
  readonly kubelet: KubeletConfiguration;
  /** The most pods of the node in the plan. The kubelet gets it, so that node and plan agree. */
  readonly maxPods: number;
  /**
   * The node's labels. Those that a kubelet may not set on itself are left out (NodeRestriction).
   */
  readonly labels: Readonly<Record<string, string>>;
  /** Taints and startup taints. The renderer adds the unregistered taint. */
  readonly taints: readonly Taint[];
  readonly instanceStorePolicy?: 'RAID0';
  /**
   * The image's version where the class pins one (`alias: bottlerocket@1.45.0`). Absent: the
   * latest.
   */
  readonly imageVersion?: string;
};

/** User data ready for EC2, or the fault in the user's part, in words for the class' status. */
export type RenderedUserData =
  | { readonly ok: true; readonly base64: string; readonly bytes: number }
  | { readonly ok: false; readonly message: string };

/**
 * Renders user data for each AMI family. Equal input gives equal bytes, because launch templates
 * are named by content.
 */
export interface UserDataRenderer {
  render(input: UserDataInput): RenderedUserData;
}
