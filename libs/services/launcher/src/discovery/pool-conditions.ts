import type { Pool } from '@dovetail/core-api';
import type { UnreadableObject } from '@dovetail/core-cluster';
import type { kubeletProblems } from '@dovetail/core-ec2-model';
import type { NewCondition } from '@dovetail/service-kit';

/** The key of a class that cannot be read, as pools refer to it. */
export const keyOf = ({ resource, object }: UnreadableObject): string =>
  `${resource.kind}/${object.metadata.name}`;

/** Why an object cannot be read, as one sentence. */
export const sentenceOf = ({ field, value, remedy }: UnreadableObject['failure']): string =>
  `${field} is ${value}: ${remedy}`;

const invalid = (reason: string, message: string): NewCondition => ({
  type: 'ValidationSucceeded',
  status: 'False',
  reason,
  message,
});

/** Whether the pool asks for nothing that Dovetail does not have. */
export const validityOf = ({ replicas }: Pool): NewCondition =>
  replicas === undefined
    ? { type: 'ValidationSucceeded', status: 'True', reason: 'ValidationSucceeded' }
    : invalid(
        'StaticPoolUnsupported',
        `spec.replicas is ${replicas}: Dovetail has no static pools yet, and makes no node for it; make a pool without replicas`,
      );

/** Why a class cannot be read, in Karpenter's words: it has one of its own for kubelet settings. */
export const classReasonOf = (field: string): string =>
  field.startsWith('spec.kubelet') ? 'InvalidKubeletConfiguration' : 'NodeClassValidationFailed';

const notReady = (status: 'False' | 'Unknown', reason: string, message: string): NewCondition => ({
  type: 'NodeClassReady',
  status,
  reason,
  message,
});

/**
 * Why a pool's class is not ready: reasons in Karpenter's words where it has them, with the remedy.
 */
export const classNotReady = {
  kubelet: ({ field, value, remedy }: ReturnType<typeof kubeletProblems>[number]) =>
    notReady(
      'False',
      'InvalidKubeletConfiguration',
      `${field.replace('spec.kubelet', 'spec.kubeletConfiguration')} is ${value}: ${remedy}`,
    ),
  notFound: (key: string) =>
    notReady(
      'False',
      'NodeClassNotFound',
      `there is no ${key}: create it, or correct the pool's reference`,
    ),
  refused: (key: string, failure: UnreadableObject['failure']) =>
    notReady('False', 'NodeClassNotReady', `${key} is refused: ${sentenceOf(failure)}`),
  terminating: (key: string) =>
    notReady('False', 'NodeClassTerminating', `${key} is being deleted`),
  notLookedUp: (key: string) =>
    notReady('Unknown', 'NodeClassReadinessUnknown', `${key} has not been looked up yet`),
  problem: (key: string, problem: NewCondition | undefined) =>
    notReady(
      'False',
      problem?.reason ?? 'NodeClassNotReady',
      problem?.message ?? `${key} is not ready`,
    ),
  notPublished: (key: string) =>
    notReady(
      'Unknown',
      'NodeClassReadinessUnknown',
      `the catalog of ${key} has not been published yet`,
    ),
};
