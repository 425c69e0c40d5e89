import { helmFor, rendererOf } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/** Values that the chart refuses at install, as a real Helm says it: each by its name. */
const helm = await helmFor('refusals of the chart');
const render = rendererOf(helm);

(helm === undefined ? describe.skip : describe)('a value of the chart', () => {
  test.each([
    ['interruptionqueue=x', "additional properties 'interruptionqueue' not allowed"],
    ['image.tagg=v1', "'/image': additional properties 'tagg' not allowed"],
    ['common.affinity.nodeAfinity=x', "'/common/affinity': additional properties 'nodeAfinity'"],
    ['common.replicas=3', "'/common': additional properties 'replicas' not allowed"],
    ['common.tolerations[0].keys=x', "additional properties 'keys' not allowed"],
    ['common.livenessProbe.timeout=3', "additional properties 'timeout' not allowed"],
    ['imagePullSecrets[0].nam=x', "additional properties 'nam' not allowed"],
    ['metrics.podMonitr.enabled=true', "'/metrics': additional properties 'podMonitr'"],
    ['services.launcher.toleration=x', "'/services/launcher': additional properties 'toleration'"],
    ['services.lancher.replicas=2', "'/services': additional properties 'lancher' not allowed"],
    ['services.solver.autoscaling.king=hpa', "additional properties 'king' not allowed"],
    ['services.reaper.env.TZ.valueFro=x', "additional properties 'valueFro' not allowed"],
    ['services.launcher.resources.limit.cpu=1', "additional properties 'limit' not allowed"],
    ['services.launcher.replicas=0', "'/services/launcher/replicas': minimum: got 0, want 1"],
    ['nats.url=ws://nats:4222', "'/nats/url'"],
    ['nats.url=nats://', "'/nats/url'"],
    ['nats.url=', 'nats.url is empty: write the address of NATS'],
    ['leaseDuration=100ms', "'/leaseDuration'"],
    ['cluster.name=my.cluster', "'/cluster/name'"],
    ['common.hostNetwork=true', "both use the host's port 8080: set `port` of one of them"],
    [
      'services.launcher.serviceAccount.name=one,services.reaper.serviceAccount.name=one',
      'services.launcher and services.reaper both create the ServiceAccount one',
    ],
    [
      'services.launcher.serviceAccount.name=dovetail-pod-watcher',
      'services.launcher and services.podWatcher both create the ServiceAccount dovetail-pod-watcher',
    ],
    ['services.solver.resources.limits.memory=256Mi', 'heapMiB is 288: the process needs 388Mi'],
    ['services.solver.autoscaling.kind=keda', 'natsMonitoring is empty: write host:port'],
    ['uninstallGuard.enable=false', "additional properties 'enable' not allowed"],
    ['uninstallGuard.settle=soon', "'/uninstallGuard/settle'"],
    ['services.solver.autoscaling.minReplicas=99', 'minReplicas is more than maxReplicas'],
    [`fullnameOverride=${'a'.repeat(48)}`, "'/fullnameOverride'"],
    [
      'nats.url=,nats.server.enabled=true,nats.server.fileStore=1GB',
      'nats.server.fileStore is 1GB, but the streams reserve 1728 MiB at once: give 2GB or more',
    ],
    [
      'nats.url=,nats.server.enabled=true,nats.server.volumeSize=1900Mi',
      'nats.server.volumeSize is 1900Mi, less than nats.server.fileStore, 2GB',
    ],
    [
      'nats.url=,nats.server.enabled=true,common.dnsPolicy=Default',
      'which does not know the NATS of the cluster, tls://dovetail-nats.dovetail.svc:4222: leave',
    ],
    [
      'nats.url=nats://nats.nats.svc.cluster.local,services.reaper.dnsPolicy=Default',
      'dnsPolicy of reaper is Default, so that it asks the DNS of its node',
    ],
    [
      'nats.url=nats://nats.nats.svc:4222,services.solver.hostNetwork=true,services.solver.dnsPolicy=ClusterFirst',
      'dnsPolicy of solver is ClusterFirst in the network of the host',
    ],
    [
      'console.enabled=true,console.pagePort=8080',
      'console.pagePort is 8080, the port of its probes and metrics',
    ],
    [
      'metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.scrapeTimeout=1m1s',
      'scrapeTimeout of a monitor is 1m1s, more than its interval, 30s',
    ],
  ])('%s is refused by its name', (value, message) =>
    expect(render(value)).rejects.toThrow(message),
  );

  test('the DNS of the node is taken with a NATS that nodes know', () =>
    expect(render('common.dnsPolicy=Default', 'nats.url=nats://10.0.0.9:4222')).resolves.toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: 'Deployment' })]),
    ));

  test.each([
    ['leaseDuration=15', 'a number with ms, s, m or h, such as 15s, up to 24h'],
    ['settings.batchIdleDuration=10', 'a number with ms, s, m or h, such as 10s'],
    ['uninstallGuard.settle=60', 'a number with ms, s, m or h, such as 60s'],
    ['metrics.podMonitor.interval=30', 'a number with ms, s, m or h, such as 30s'],
    ['interruptionQueue=https://sqs/queue', 'the name of the queue, not its address'],
    ['otel.endpoint=collector:4317', 'an address such as http://otel-collector'],
    ['image.digest=abc', 'sha256: and 64 digits of 0-9a-f'],
    ['assumedRequests=cpu', 'none, or amounts such as cpu=25m'],
    ['nats.server.fileStore=2Gi', 'a number with MB, GB or TB, such as 2GB'],
    ['nats.server.volumeSize=3GB', 'a number with Mi, Gi or Ti, such as 3Gi'],
    ['metrics.dashboards.namespace=A_b', 'the name of a namespace: small letters'],
  ])('%s is refused with what to write: %s', (value, remedy) =>
    expect(render(value)).rejects.toThrow(remedy),
  );

  test.each([
    ['serviceAccount.name=x', 'each service has services.<service>.serviceAccount.name'],
    ['controller.resources.limits.cpu=1', 'the rest in services.<service>'],
    ['replicas=2', 'services.<service>.replicas'],
    ['settings.clusterName=x', 'this chart calls it cluster.name'],
    ['settings.interruptionQueue=x', 'this chart calls it interruptionQueue, outside settings'],
    ['settings.aws.clusterName=x', '`dovetail convert values` says what each value is called'],
  ])("%s, of Karpenter's chart, is refused with the name it has here", (value, message) =>
    expect(render(value)).rejects.toThrow(message),
  );
});
