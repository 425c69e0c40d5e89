/**
 * The fields of `KubeletConfiguration` in k8s.io/kubelet 0.37, which Karpenter 1.15 checks
 * `spec.kubelet` with, by the kind of their values. A kubelet ignores a field that it does not
 * know, so a misspelt one would have no effect.
 */
const byKind = {
  flag:
    'enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers ' +
    'enableContentionProfiling cgroupsPerQOS singleProcessOOMKill runOnce cpuCFSQuota ' +
    'serializeImagePulls mergeDefaultEvictionSettings enableControllerAttachDetach ' +
    'protectKernelDefaults makeIPTablesUtilChains failSwapOn kernelMemcgNotification ' +
    'enableSystemLogHandler enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler ' +
    'seccompDefault registerNode localStorageCapacityIsolation failCgroupV1',
  text:
    'staticPodPath podLogsDir syncFrequency fileCheckFrequency httpCheckFrequency staticPodURL ' +
    'address tlsCertFile tlsPrivateKeyFile tlsMinVersion imagePullCredentialsVerificationPolicy ' +
    'healthzBindAddress clusterDomain streamingConnectionIdleTimeout nodeStatusUpdateFrequency ' +
    'nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod ' +
    'kubeletCgroups systemCgroups cgroupRoot cgroupDriver cpuManagerPolicy ' +
    'cpuManagerReconcilePeriod memoryManagerPolicy topologyManagerPolicy topologyManagerScope ' +
    'runtimeRequestTimeout hairpinMode podCIDR resolvConf cpuCFSQuotaPeriod contentType ' +
    'evictionPressureTransitionPeriod containerLogMaxSize containerLogMonitorInterval ' +
    'reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup ' +
    'volumePluginDir providerID shutdownGracePeriod shutdownGracePeriodCriticalPods ' +
    'memoryReservationPolicy containerRuntimeEndpoint imageServiceEndpoint ' +
    'configMapAndSecretChangeDetectionStrategy',
  number:
    'port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort ' +
    'oomScoreAdj nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent ' +
    'maxPods podPidsLimit nodeStatusMaxImages maxOpenFiles kubeAPIQPS kubeAPIBurst ' +
    'maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore iptablesMasqueradeBit ' +
    'iptablesDropBit containerLogMaxFiles containerLogMaxWorkers memoryThrottlingFactor',
  list:
    'tlsCipherSuites tlsCurvePreferences preloadedImagesVerificationAllowlist clusterDNS ' +
    'enforceNodeAllocatable allowedUnsafeSysctls shutdownGracePeriodByPodPriority reservedMemory',
  map:
    'staticPodURLHeader cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved ' +
    'evictionHard evictionSoft evictionSoftGracePeriod evictionMinimumReclaim featureGates ' +
    'systemReserved kubeReserved defaultPodSysctls authentication authorization memorySwap ' +
    'logging crashLoopBackOff tracing userNamespaces',
} as const;

/** The kind of a kubelet field's value, as JSON has it. */
export type KubeletFieldKind = keyof typeof byKind;

/** The kind of each field of the kubelet's configuration, by the field's name. */
export const kubeletFieldKinds: ReadonlyMap<string, KubeletFieldKind> = new Map(
  (Object.keys(byKind) as readonly KubeletFieldKind[]).flatMap((kind) =>
    byKind[kind].split(' ').map((name) => [name, kind] as const),
  ),
);
