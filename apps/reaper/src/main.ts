import { AwsSession } from '@dovetail/adapter-aws';
import { awsAccount } from '@dovetail/adapter-aws/account';
import { awsInstanceStatuses } from '@dovetail/adapter-aws/instance-statuses';
import { awsInstances } from '@dovetail/adapter-aws/instances';
import { awsInterruptionQueue } from '@dovetail/adapter-aws/queue';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectService } from '@dovetail/adapter-nats';
import {
  type Assembled,
  awsPlaceOf,
  awsSettings,
  commonSettings,
  dollars,
  durationMs,
  featureGatesSetting,
  keepingSettings,
  leaderSettings,
  queueName,
  runService,
  type Shell,
  systemHash,
  traceSettings,
  warnOfGates,
  wholeNumber,
  yesOrNo,
} from '@dovetail/runtime';
import { EventRecorder, runBeside } from '@dovetail/service-kit';
import { createReaper, defaultReaperConfig, reaperMetrics } from '@dovetail/service-reaper';

const settings = {
  ...commonSettings,
  ...leaderSettings,
  ...awsSettings,
  ...traceSettings,
  interruptionQueue: {
    env: 'INTERRUPTION_QUEUE',
    flag: 'interruption-queue',
    help: 'Name of the SQS queue with interruption notices; none: no notices are read.',
    fallback: '',
    parse: queueName,
  },
  featureGates: featureGatesSetting,
  legacyNodeRepair: {
    env: 'LEGACY_NODE_REPAIR',
    flag: 'legacy-node-repair',
    help: 'true: with the gate NodeRepair unhealthy nodes end by force, without a replacement first and whatever budgets say (as by Karpenter 1.14).',
    fallback: defaultReaperConfig.legacyNodeRepair,
    parse: yesOrNo,
  },
  disableClusterStateObservability: {
    env: 'DISABLE_CLUSTER_STATE_OBSERVABILITY',
    flag: 'disable-cluster-state-observability',
    help: 'true: no metrics of single nodes and pods. They are about 13 kB a node and 250 bytes a pod in each scrape: set it above a thousand nodes.',
    fallback: !defaultReaperConfig.observesClusterState,
    parse: yesOrNo,
  },
  gapEveryMs: {
    env: 'GAP_EVERY',
    flag: 'gap-every',
    help: 'The shortest time between two comparisons of the price of all nodes with that of a plan from nothing, such as 10m; 0: none is made. Nothing is compared while nothing changes.',
    fallback: defaultReaperConfig.gapEveryMs,
    parse: durationMs,
  },
  ...keepingSettings,
  consolidationMovePauseMs: {
    env: 'CONSOLIDATION_MOVE_PAUSE',
    flag: 'consolidation-move-pause',
    help: 'How long pods that consolidation moved, and nodes that it bought, are left alone, unless the next move pays for both; 0: they are not.',
    fallback: defaultReaperConfig.disruption.movePauseMs,
    parse: durationMs,
  },
  consolidationSavingMin: {
    env: 'CONSOLIDATION_SAVING_MIN',
    flag: 'consolidation-saving-min',
    help: 'The least saving of a replacement, in US dollars an hour.',
    fallback: defaultReaperConfig.disruption.replacementSavingMin.microsPerHour / 1e6,
    parse: dollars,
  },
  consolidationSavingPercent: {
    env: 'CONSOLIDATION_SAVING_PERCENT',
    flag: 'consolidation-saving-percent',
    help: 'The least saving of a replacement, in percent of the price of the node that goes.',
    fallback: defaultReaperConfig.disruption.replacementSavingMin.share * 100,
    parse: wholeNumber({ least: 0, most: 100 }),
  },
  consolidationMoveCost: {
    env: 'CONSOLIDATION_MOVE_COST',
    flag: 'consolidation-move-cost',
    help: 'US dollars an hour that the move of an ordinary pod must save. Pods of a higher priority or deletion cost, young ones, and those with volumes or a long grace period cost more; 0: moves are free.',
    fallback: defaultReaperConfig.disruption.moveCostMicrosPerHour / 1e6,
    parse: dollars,
  },
} as const;

await runService(
  {
    name: 'reaper',
    purpose:
      'retires nodes that are empty, expired, drifted, unhealthy, under-used or about to be interrupted',
    settings,
    metrics: reaperMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof settings>): Assembled {
  const { metrics, clock, vitals } = shell;
  const { clusterName, kubeconfig, ...given } = shell.settings;
  warnOfGates(given.featureGates, shell.log);
  const mayWrite = (): boolean => leadership.keepsOthersAway();
  const api = connectKubernetes({
    log: shell.log,
    pace: { perSecond: given.kubeQps, burst: given.kubeBurst },
    mayWrite,
    ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }),
  });
  const kube = shell.watched(api);
  const recording = { kube, clock, log: shell.log, metrics, hash: systemHash };
  const events = new EventRecorder(recording, 'reaper');
  const log = shell.telling(kube, (event) => events.record(event));
  const bus = connectService('reaper', shell.settings, { log, metrics });
  const aws = new AwsSession({ ...awsPlaceOf(shell.settings), clock, log, mayWrite });
  const cloud = { ...awsInstances(aws), ...awsInstanceStatuses(aws), ...awsAccount(aws) };
  const leadership = shell.leadership(kube);
  const around = { bus, clock, log, metrics, vitals, hash: systemHash, leadership };
  const deps = {
    kube,
    scraped: metrics,
    urgentKube: shell.watched(api.urgent),
    serverClock: api.serverClock,
    cloud,
    ...around,
    ...shell.tracing,
  };
  const service = createReaper(
    { ...deps, ...queueOf(aws, given.interruptionQueue) },
    { clusterName, ...configOf(shell.settings) },
  );
  const close = (): Promise<void> => {
    aws.close();
    return bus.close();
  };
  return { service: runBeside(service, (stop) => events.run(stop)), close };
}

/** The settings of disruption, with the limits that keep pods from moving back and forth. */
function configOf(given: Shell<typeof settings>['settings']) {
  const { consolidation, featureGates, gapEveryMs, legacyNodeRepair } = given;
  const disruption = {
    ...defaultReaperConfig.disruption,
    movePauseMs: given.consolidationMovePauseMs,
    replacementSavingMin: {
      microsPerHour: Math.round(given.consolidationSavingMin * 1e6),
      share: given.consolidationSavingPercent / 100,
    },
    moveCostMicrosPerHour: Math.round(given.consolidationMoveCost * 1e6),
  };
  const { gates } = featureGates ?? {};
  const observesClusterState = !given.disableClusterStateObservability;
  return {
    ...defaultReaperConfig,
    observesClusterState,
    gapEveryMs,
    consolidation,
    legacyNodeRepair,
    ...gates,
    disruption,
  };
}

/** The queue of interruption notices, if one is named. */
function queueOf(
  aws: AwsSession,
  queueName: string,
): { readonly queue?: ReturnType<typeof awsInterruptionQueue> } {
  return queueName === '' ? {} : { queue: awsInterruptionQueue(aws, { queueName }) };
}
