import { type KubeObject, kubeResources } from '@dovetail/core-ports';

/** The folder of our CustomResourceDefinitions. */
export const definitions = new URL('../../../../deploy/crds/', import.meta.url).pathname;

export const { nodePools, provisioners, ec2NodeClasses, nodeClaims, events } = kubeResources;

type Spec = Readonly<Record<string, unknown>>;

export const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

export const pool = (name: string, template: Spec = {}, spec: Spec = {}): KubeObject => ({
  metadata: { name },
  spec: { template: { spec: { nodeClassRef: classRef, requirements: [], ...template } }, ...spec },
});
