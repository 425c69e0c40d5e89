import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import type { ControlPlaneKind } from '@dovetail/testbed';

export const nodeClass = {
  amiFamily: 'Bottlerocket',
  kubelet: {},
  blockDeviceMappings: [],
} as const;

export const subnetZones = ['eu-west-1a', 'eu-west-1b'];

const daemonSet = (name: string, cpu: string): string => `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: ${name}, namespace: kube-system }
spec:
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      tolerations: [{ operator: Exists }]
      containers: [{ name: main, image: public.ecr.aws/eks-distro/kubernetes/pause:3.9, resources: { requests: { cpu: ${cpu} } } }]
`;

export async function openTeam1(options: {
  readonly world: ControlPlaneKind;
  readonly placement?: 'scheduler';
}): Promise<TestWorld> {
  const at = await openWorld({ ...options, region: 'eu-west-1', zones: [...subnetZones] });
  await at.kube.putManifests(
    `${daemonSet('aws-node', '25m')}---${daemonSet('kube-proxy', '100m')}`,
  );
  await at.applyScenario('team1-zonal-spread', ['provisioners.yaml']);
  await eventually(
    'team1 to be ready',
    async () =>
      (await at.kubectl(
        'get',
        'provisioner',
        'team1',
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
      )) === 'True',
  );
  await at.applyScenario('team1-zonal-spread', ['workload.yaml']);
  return at;
}
