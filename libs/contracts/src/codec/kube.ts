import type {
  CsiNode,
  DaemonSet,
  HostPort,
  LabelSelector,
  LabelSelectorRequirement,
  Namespace,
  Node,
  Owner,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  PodDisruptionBudget,
  PodVolume,
  StorageClass,
  Toleration,
  TopologySpreadConstraint,
  Weighted,
} from '@dovetail/core-kube-model';

import {
  type Codec,
  flag,
  int,
  intMap,
  list,
  message,
  name,
  oneOf,
  optional,
  text,
  textMap,
} from './fields.js';
import { resources, selectorTerm, selectorTerms, taintEffect, taintList } from './values.js';
import { wire as w } from './wire.js';

const labelOperator = oneOf<LabelSelectorRequirement['operator']>({
  In: w.LabelOperator.LABEL_OPERATOR_IN,
  NotIn: w.LabelOperator.LABEL_OPERATOR_NOT_IN,
  Exists: w.LabelOperator.LABEL_OPERATOR_EXISTS,
  DoesNotExist: w.LabelOperator.LABEL_OPERATOR_DOES_NOT_EXIST,
});
const tolerationOperator = oneOf<Toleration['operator']>({
  Equal: w.TolerationOperator.TOLERATION_OPERATOR_EQUAL,
  Exists: w.TolerationOperator.TOLERATION_OPERATOR_EXISTS,
  Lt: w.TolerationOperator.TOLERATION_OPERATOR_LT,
  Gt: w.TolerationOperator.TOLERATION_OPERATOR_GT,
});
const nodeInclusion = oneOf<'Honor' | 'Ignore'>({
  Honor: w.NodeInclusion.NODE_INCLUSION_HONOR,
  Ignore: w.NodeInclusion.NODE_INCLUSION_IGNORE,
});
const whenUnsatisfiable = oneOf<TopologySpreadConstraint['whenUnsatisfiable']>({
  DoNotSchedule: w.WhenUnsatisfiable.WHEN_UNSATISFIABLE_DO_NOT_SCHEDULE,
  ScheduleAnyway: w.WhenUnsatisfiable.WHEN_UNSATISFIABLE_SCHEDULE_ANYWAY,
});
const protocol = oneOf<HostPort['protocol']>({
  TCP: w.PortProtocol.PORT_PROTOCOL_TCP,
  UDP: w.PortProtocol.PORT_PROTOCOL_UDP,
  SCTP: w.PortProtocol.PORT_PROTOCOL_SCTP,
});
const phase = oneOf<Pod['phase']>({
  Pending: w.PodPhase.POD_PHASE_PENDING,
  Running: w.PodPhase.POD_PHASE_RUNNING,
  Succeeded: w.PodPhase.POD_PHASE_SUCCEEDED,
  Failed: w.PodPhase.POD_PHASE_FAILED,
  Unknown: w.PodPhase.POD_PHASE_UNKNOWN,
});
const claimPhase = oneOf<PersistentVolumeClaim['phase']>({
  Pending: w.VolumeClaimPhase.VOLUME_CLAIM_PHASE_PENDING,
  Bound: w.VolumeClaimPhase.VOLUME_CLAIM_PHASE_BOUND,
  Lost: w.VolumeClaimPhase.VOLUME_CLAIM_PHASE_LOST,
});
const bindingMode = oneOf<StorageClass['bindingMode']>({
  Immediate: w.BindingMode.BINDING_MODE_IMMEDIATE,
  WaitForFirstConsumer: w.BindingMode.BINDING_MODE_WAIT_FOR_FIRST_CONSUMER,
});
const unhealthyEviction = oneOf<PodDisruptionBudget['unhealthyPodEvictionPolicy']>({
  IfHealthyBudget: w.UnhealthyEviction.UNHEALTHY_EVICTION_IF_HEALTHY_BUDGET,
  AlwaysAllow: w.UnhealthyEviction.UNHEALTHY_EVICTION_ALWAYS_ALLOW,
});

const labelSelector = message<LabelSelector>({
  requirements: list(
    message<LabelSelectorRequirement>({ key: name, operator: labelOperator, values: list(text) }),
  ),
});
const toleration = message<Toleration>(
  {
    key: optional(text),
    operator: tolerationOperator,
    value: optional(text),
    effect: optional(taintEffect),
    tolerationSeconds: optional(int),
  },
  ['effect'],
);
const spread = message<TopologySpreadConstraint>({
  maxSkew: int,
  topologyKey: name,
  whenUnsatisfiable,
  selector: optional(labelSelector),
  minDomains: optional(int),
  nodeAffinityPolicy: nodeInclusion,
  nodeTaintsPolicy: nodeInclusion,
});
const podTerm = message<PodAffinityTerm>({
  topologyKey: name,
  selector: optional(labelSelector),
  namespaces: list(text),
  namespaceSelector: optional(labelSelector),
});
const weighted = <T>(term: Codec<T>): Codec<Weighted<T>> =>
  message<{ readonly weight: number; readonly term: T }>({ weight: int, term });
const owner = message<Owner>({ apiVersion: text, kind: name, name, uid: name });
const volume = message<PodVolume>({
  claimName: name,
  ephemeral: optional(
    message<NonNullable<PodVolume['ephemeral']>>({ storageClassName: optional(text) }),
  ),
});

/** A daemonset's template has no name of its own; every other pod has. */
const podNamed = (nameCodec: Codec<string>): Codec<Pod> =>
  message<Pod>({
    uid: name,
    namespace: text,
    name: nameCodec,
    resourceVersion: text,
    labels: textMap,
    annotations: textMap,
    createdMs: int,
    deletionMs: optional(int),
    phase,
    startMs: optional(int),
    ready: flag,
    unschedulable: flag,
    nodeName: optional(text),
    nominatedNodeName: optional(text),
    owner: optional(owner),
    mirror: flag,
    priority: int,
    priorityClassName: optional(text),
    schedulerName: text,
    schedulingGates: list(text),
    schedulingGroup: flag,
    requests: resources,
    nodeSelector: textMap,
    requiredNodeAffinity: optional(selectorTerms),
    preferredNodeAffinity: list(weighted(selectorTerm)),
    tolerations: list(toleration),
    topologySpread: list(spread),
    requiredPodAffinity: list(podTerm),
    preferredPodAffinity: list(weighted(podTerm)),
    requiredPodAntiAffinity: list(podTerm),
    preferredPodAntiAffinity: list(weighted(podTerm)),
    hostPorts: list(message<HostPort>({ ip: text, port: int, protocol })),
    volumes: list(volume),
    resourceClaims: list(text),
    terminationGracePeriodSeconds: int,
  });
/** A pod of the state feed. Its name must not be empty. */
export const pod = podNamed(name);

/** A node, projected to what planning reads. */
export const node = message<Node>({
  uid: name,
  name,
  resourceVersion: text,
  labels: textMap,
  annotations: textMap,
  createdMs: int,
  deletionMs: optional(int),
  finalizers: list(text),
  providerId: optional(text),
  taints: taintList,
  cordoned: flag,
  ready: flag,
  capacity: resources,
  allocatable: resources,
  internalIp: optional(text),
  kubeletVersion: optional(text),
});
/** A DaemonSet, with the pod that it puts on each node. */
export const daemonSet = message<DaemonSet>({
  uid: name,
  namespace: text,
  name,
  resourceVersion: text,
  template: podNamed(text),
});
/** A PodDisruptionBudget with its current allowance. */
export const disruptionBudget = message<PodDisruptionBudget>({
  uid: name,
  namespace: text,
  name,
  resourceVersion: text,
  selector: optional(labelSelector),
  minAvailable: optional(text),
  maxUnavailable: optional(text),
  unhealthyPodEvictionPolicy: unhealthyEviction,
  disruptionsAllowed: int,
});
/** A namespace with its labels. */
export const namespace = message<Namespace>({
  uid: name,
  name,
  resourceVersion: text,
  labels: textMap,
});
/** A PersistentVolume with the nodes that can reach it. */
export const persistentVolume = message<PersistentVolume>({
  uid: name,
  name,
  resourceVersion: text,
  deletionMs: optional(int),
  nodeAffinity: optional(selectorTerms),
  driver: optional(text),
  local: flag,
});
/** A PersistentVolumeClaim, bound or not. */
export const persistentVolumeClaim = message<PersistentVolumeClaim>({
  uid: name,
  namespace: text,
  name,
  resourceVersion: text,
  deletionMs: optional(int),
  phase: claimPhase,
  volumeName: optional(text),
  bindCompleted: flag,
  storageClassName: optional(text),
  onePod: optional(flag),
});
/** A StorageClass with its topologies. */
export const storageClass = message<StorageClass>({
  uid: name,
  name,
  resourceVersion: text,
  createdMs: int,
  isDefault: flag,
  provisioner: text,
  bindingMode,
  allowedTopologies: optional(selectorTerms),
});
/** How many volumes each CSI driver attaches to a node. */
export const csiNode = message<CsiNode>({ uid: name, name, resourceVersion: text, limits: intMap });
