/** Which parts outside Dovetail are real: NATS always is where it can be had; Kubernetes is a twin or the real control plane. */
export type World = 'twin' | 'real';

export type LabOptions = {
  /** Everything the lab writes: kubeconfig, logs, stores. Made when missing. */
  readonly dir: string;
  /** Where the bundles of the services stand (`npm run build`). */
  readonly distDir: string;
  readonly world: World;
  readonly region: string;
  readonly clusterName: string;
  /** How many solver processes. */
  readonly solvers: number;
  /** Zones that have subnets; absent: the region's preset. */
  readonly zones?: readonly string[];
  /** Minor version of Kubernetes that the cluster and its images start with. */
  readonly kubernetesVersion: string;
  /** How long a silent leader keeps its lease. */
  readonly leaseMs: number;
  readonly placement: 'bind' | 'scheduler';
  /** Further environment for one service or all (`*`). */
  readonly env?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Start again what has died, as a Deployment would. */
  readonly supervise: boolean;
  /** Hears of each part when it runs, of downloads and builds, and of what is started again. */
  readonly progress: (line: string) => void;
  /** Called when Kubernetes answers and before any service starts: the place to apply CustomResourceDefinitions. */
  readonly prepare: (kubeconfig: string) => Promise<void>;
};

export const defaultLabOptions = {
  world: 'twin', region: 'us-west-2', clusterName: 'lab', solvers: 1, kubernetesVersion: '1.34', leaseMs: 3_000, placement: 'bind', supervise: true,
} as const satisfies Partial<LabOptions>;
