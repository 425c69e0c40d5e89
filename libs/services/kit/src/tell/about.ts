import type { PoolIdentity } from '@dovetail/core-api';
import type { EventSubject } from '@dovetail/core-kube-model';

type Named = { readonly name: string; readonly uid: string };

/** The subject of an Event about a Pod. */
export const aboutPod = ({
  name,
  namespace,
  uid,
}: Named & { readonly namespace: string }): EventSubject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  name,
  namespace,
  uid,
});

/** The subject of an Event about a Node. */
export const aboutNode = ({ name, uid }: Named): EventSubject => ({
  apiVersion: 'v1',
  kind: 'Node',
  name,
  uid,
});

/** The subject of an Event about a NodeClaim. */
export const aboutClaim = ({ name, uid }: Named): EventSubject => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  name,
  uid,
});

/** The subject of an Event about a NodePool or a Provisioner. */
export const aboutPool = (pool: {
  readonly identity: PoolIdentity;
  readonly uid: string;
}): EventSubject => ({
  apiVersion: pool.identity.kind === 'NodePool' ? 'karpenter.sh/v1' : 'karpenter.sh/v1alpha5',
  kind: pool.identity.kind,
  name: pool.identity.name,
  uid: pool.uid,
});
