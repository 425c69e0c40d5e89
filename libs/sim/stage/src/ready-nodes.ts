import { annotations, nodeClaimObject, terminationFinalizer } from '@dovetail/core-api';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import type { TwinInstance } from '@dovetail/sim-cloud';

import { clusterName, type Stage } from './stage.js';

const { nodeClaims, nodePools, nodes, provisioners } = kubeResources;

/** The properties of a ready node that differ from the defaults. */
export type ReadyNodeOptions = {
  readonly pool?: string;
  readonly poolKind?: 'NodePool' | 'Provisioner';
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
  readonly capacityType?: 'on-demand' | 'spot';
  readonly claimAnnotations?: Readonly<Record<string, string>>;
  readonly nodeAnnotations?: Readonly<Record<string, string>>;
  /** Allocatable CPU; default 4. */
  readonly cpu?: string;
};

/** The names of a node that was made, with its claim and instance. */
export type ReadyNode = {
  readonly name: string;
  readonly claimName: string;
  readonly instanceId: string;
  readonly nodeUid: string;
};

/**
 * Makes nodes as the launcher leaves them, without waiting: an instance, its claim, and the
 * initialized node.
 */
export class ReadyNodes {
  readonly #stage: Stage;
  #made = 0;
  #template: Promise<void> | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async make(name: string, options: ReadyNodeOptions = {}): Promise<ReadyNode> {
    const instanceId = await this.launch(options.capacityType);
    const instance = this.#stage.twin.instances.get(instanceId);
    const claim = await this.#claim(name, instance, options);
    const node = await this.#node(name, instance, claim.metadata.labels ?? {}, options);
    return { name, claimName: claim.metadata.name, instanceId, nodeUid: node.metadata.uid ?? '' };
  }

  /** Makes an instance with the cluster's tags and no claim. Returns its id. */
  async launch(capacityType: 'on-demand' | 'spot' = 'on-demand'): Promise<string> {
    const { cloud, kube, twin } = this.#stage;
    this.#template ??= this.#makeTemplate();
    await this.#template;
    this.#made += 1;
    const kubeSystem = await kube.get({ resource: kubeResources.namespaces, name: 'kube-system' });
    const overrides = twin.account.subnets.map(({ id, zone }) => ({
      instanceType: 'm5.large',
      subnetId: id,
      zone,
    }));
    const outcome = await cloud.createFleet({
      clientToken: `token-${String(this.#made)}`,
      capacityType,
      count: 1,
      allocation: 'lowest-price',
      tags: {
        'eks:eks-cluster-name': clusterName,
        'dovetail.sh/cluster-uid': kubeSystem?.metadata.uid ?? '',
        'dovetail.sh/launch-intent': `intent-${String(this.#made)}`,
      },
      configs: [{ launchTemplateName: 'ready-node', overrides }],
    });
    const id = outcome.instances[0]?.id;
    if (id === undefined) throw new Error(`no instance: ${JSON.stringify(outcome.errors)}`);
    return id;
  }

  async #makeTemplate(): Promise<void> {
    const { cloud, twin } = this.#stage;
    const imageId = await cloud.parameter(
      '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id',
    );
    const { endpoint, certificateAuthority } = twin.cluster();
    const script = `#!/bin/bash -xe\n/etc/eks/bootstrap.sh '${clusterName}' --apiserver-endpoint '${endpoint}' --b64-cluster-ca '${certificateAuthority}'\n`;
    await cloud.ensureLaunchTemplate({
      name: 'ready-node',
      imageId: imageId ?? '',
      userDataBase64: Buffer.from(script).toString('base64'),
      instanceProfileName: `KarpenterNodeInstanceProfile-${clusterName}`,
      securityGroupIds: twin.account.securityGroups.map(({ id }) => id),
      blockDevices: [],
      metadataOptions: {},
      detailedMonitoring: false,
      tags: {},
    });
  }

  async #claim(
    name: string,
    instance: TwinInstance,
    options: ReadyNodeOptions,
  ): Promise<KubeObject> {
    const { clock, kube } = this.#stage;
    const claim = claimObject(name, instance, {
      ...options,
      poolUid: this.#poolUid(options) ?? 'gone',
    });
    await kube.create(nodeClaims, claim);
    const lastTransitionTime = new Date(clock.nowMs()).toISOString();
    const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({
      type,
      status: 'True',
      reason: type,
      message: '',
      lastTransitionTime,
    }));
    return kube.patch(
      { resource: nodeClaims, name: claim.metadata.name },
      {
        type: 'merge',
        body: { status: { providerID: providerIdOf(instance), nodeName: name, conditions } },
      },
      { subresource: 'status' },
    );
  }

  #poolUid({ poolKind, pool = 'default' }: ReadyNodeOptions): string | undefined {
    const resource = poolKind === 'Provisioner' ? provisioners : nodePools;
    return this.#stage.find(resource, pool)?.metadata.uid;
  }

  async #node(
    name: string,
    instance: TwinInstance,
    claimLabels: Readonly<Record<string, string>>,
    options: ReadyNodeOptions,
  ): Promise<KubeObject> {
    const { kube } = this.#stage;
    const providerId = providerIdOf(instance);
    const labels = {
      ...claimLabels,
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
    };
    const node = await kube.create(nodes, {
      metadata: {
        name,
        finalizers: [terminationFinalizer],
        labels,
        annotations: options.nodeAnnotations ?? {},
      },
      spec: { providerID: providerId },
    });
    const size = { cpu: options.cpu ?? '4', memory: '16Gi', pods: '50' };
    const conditions = [{ type: 'Ready', status: 'True' }];
    await kube.patch(
      { resource: nodes, name },
      { type: 'merge', body: { status: { capacity: size, allocatable: size, conditions } } },
      { subresource: 'status' },
    );
    this.#stage.bootAs(name, {
      providerId,
      labels,
      taints: [],
      capacity: size,
      allocatable: size,
      arch: 'amd64',
      kubeletVersion: 'v1.32.0',
    });
    return node;
  }
}

const providerIdOf = (instance: TwinInstance): string => `aws:///${instance.zone}/${instance.id}`;

function claimObject(
  name: string,
  instance: TwinInstance,
  options: ReadyNodeOptions & { readonly poolUid: string },
): KubeObject {
  const { expireAfterMs, terminationGracePeriodMs } = options;
  return nodeClaimObject({
    name: `claim-${name}`,
    pool: { kind: options.poolKind ?? 'NodePool', name: options.pool ?? 'default' },
    poolUid: options.poolUid,
    labels: {
      'node.kubernetes.io/instance-type': instance.instanceType,
      'topology.kubernetes.io/zone': instance.zone,
      'karpenter.sh/capacity-type': instance.capacityType,
    },
    annotations: { [annotations.instanceId]: instance.id, ...options.claimAnnotations },
    classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    taints: [],
    startupTaints: [],
    requirements: [],
    requests: {},
    ...(expireAfterMs === undefined ? {} : { expireAfterMs }),
    ...(terminationGracePeriodMs === undefined ? {} : { terminationGracePeriodMs }),
  });
}
