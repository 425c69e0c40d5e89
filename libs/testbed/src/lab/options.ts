import type { KarpenterProgram } from '../obtain/karpenter.js';

/** Which Kubernetes the lab uses. NATS is always real where a nats-server can be obtained. */
export type ControlPlaneKind = 'twin' | 'real';

/** The lab to start. */
export type LabOptions = {
  /**
   * The folder of everything that the lab writes: kubeconfig, logs, stores. Created when missing.
   */
  readonly dir: string;
  /**
   * The folder of the services' bundles (`npm run build`). The policies that they work under are
   * beside it, in deploy/iam.
   */
  readonly distDir: string;
  readonly world: ControlPlaneKind;
  readonly region: string;
  readonly clusterName: string;
  /** The number of solver processes. */
  readonly solvers: number;
  /** Zones that have subnets; absent: the region's preset. */
  readonly zones?: readonly string[];
  /** Minor version of Kubernetes that the cluster and its images start with. */
  readonly kubernetesVersion: string;
  /** The time that a silent leader keeps its lease. */
  readonly leaseMs: number;
  readonly placement: 'bind' | 'scheduler';
  /** Further environment for one service or all (`*`). */
  readonly env?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Runs Karpenter's AWS controller instead of the services and their bus. */
  readonly karpenter?: KarpenterProgram;
  /** Starts everything around the services and none of them: the caller runs them, or others. */
  readonly servicesLeftOut?: boolean;
  /** Starts the console beside the services. Without a nats-server it is left out. */
  readonly console?: boolean;
  /** Restarts parts that have died, as a Deployment would. */
  readonly supervise: boolean;
  /** Receives a line when a part runs, is downloaded, built or restarted. */
  readonly progress: (line: string) => void;
  /**
   * Called when Kubernetes answers, before any service starts. Apply CustomResourceDefinitions
   * here.
   */
  readonly prepare: (kubeconfig: string) => Promise<void>;
};

/** The options of a lab that names none. The short Lease makes a takeover quick to watch. */
export const defaultLabOptions = {
  world: 'twin',
  region: 'us-west-2',
  clusterName: 'lab',
  solvers: 1,
  kubernetesVersion: '1.34',
  leaseMs: 3_000,
  placement: 'bind',
  supervise: true,
} as const satisfies Partial<LabOptions>;
