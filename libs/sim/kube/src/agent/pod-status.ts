import { type Raw, recordOf } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

import { listOf, textOf } from '../model/json.js';
import { addressesFrom } from './addresses.js';

/** A pod as the agent reads it. */
export type PodView = KubeObject & { readonly spec?: Raw; readonly status?: Raw };

/** The phase of a pod; Pending if its status has none. */
export const phaseOf = (pod: PodView): string => textOf(recordOf(pod.status)['phase']) || 'Pending';

/** The node that a pod is bound to; empty if none. */
export const nodeNameOf = (pod: PodView): string => textOf(recordOf(pod.spec)['nodeName']);

/** Whether a pod has ended for good: its phase is Succeeded or Failed. */
export const hasEnded = (pod: PodView): boolean =>
  phaseOf(pod) === 'Succeeded' || phaseOf(pod) === 'Failed';

const containersOf = (pod: PodView, field: 'containers' | 'initContainers'): readonly Raw[] =>
  listOf(recordOf(pod.spec)[field]).map(recordOf);

function conditionsWith(pod: PodView, changes: readonly Raw[], now: string): readonly Raw[] {
  const before = listOf(recordOf(pod.status)['conditions']).map(recordOf);
  const names = changes.map((change) => change['type']);
  const stamped = changes.map((change) => {
    const old = before.find((one) => one['type'] === change['type']);
    return {
      lastProbeTime: null,
      lastTransitionTime:
        old !== undefined && old['status'] === change['status'] ? old['lastTransitionTime'] : now,
      ...change,
    };
  });
  return [...stamped, ...before.filter((one) => !names.includes(one['type']))];
}

function containerStatus(
  container: Raw,
  state: Raw,
  flags: { readonly ready: boolean; readonly started: boolean },
): Raw {
  const image = textOf(container['image']);
  return {
    name: container['name'],
    state,
    lastState: {},
    ready: flags.ready,
    restartCount: 0,
    image,
    imageID: image,
    containerID: '',
    started: flags.started,
  };
}

const initDone = (pod: PodView, now: string): Raw => {
  const containers = containersOf(pod, 'initContainers');
  if (containers.length === 0) return {};
  return {
    initContainerStatuses: containers.map((one) =>
      one['restartPolicy'] === 'Always'
        ? containerStatus(one, { running: { startedAt: now } }, { ready: true, started: true })
        : containerStatus(
            one,
            { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } },
            { ready: true, started: false },
          ),
    ),
  };
};

/** The kubelet has seen the pod and makes its containers. */
export function creatingStatus(
  pod: PodView,
  node: { readonly internalIp?: string },
  now: string,
): Raw {
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  const notReady = {
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${containersOf(pod, 'containers')
      .map((one) => textOf(one['name']))
      .join(' ')}]`,
  };
  return {
    phase: 'Pending',
    startTime: now,
    ...(node.internalIp === undefined
      ? {}
      : { hostIP: node.internalIp, hostIPs: [{ ip: node.internalIp }] }),
    conditions: conditionsWith(
      pod,
      [
        { type: 'PodReadyToStartContainers', status: 'False' },
        {
          type: 'Initialized',
          status: containersOf(pod, 'initContainers').length === 0 ? 'True' : 'False',
        },
        { type: 'Ready', status: 'False', ...notReady },
        { type: 'ContainersReady', status: 'False', ...notReady },
      ],
      now,
    ),
    containerStatuses: containersOf(pod, 'containers').map((one) =>
      containerStatus(one, waiting, { ready: false, started: false }),
    ),
  };
}

/** All containers run and are ready. */
export function runningStatus(pod: PodView, now: string): Raw {
  const ip = addressesFrom(textOf(pod.metadata.uid));
  return {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: conditionsWith(
      pod,
      ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady'].map((type) => ({
        type,
        status: 'True',
      })),
      now,
    ),
    containerStatuses: containersOf(pod, 'containers').map((one) =>
      containerStatus(one, { running: { startedAt: now } }, { ready: true, started: true }),
    ),
    ...initDone(pod, now),
  };
}

/** All containers have ended, with this exit code. */
export function endedStatus(pod: PodView, exitCode: number, now: string): Raw {
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const why = exitCode === 0 ? { reason: 'PodCompleted' } : { reason: 'PodFailed' };
  const startedAt = textOf(recordOf(pod.status)['startTime']) || now;
  return {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    conditions: conditionsWith(
      pod,
      [
        { type: 'PodReadyToStartContainers', status: 'False' },
        { type: 'Initialized', status: 'True', ...(exitCode === 0 ? why : {}) },
        { type: 'Ready', status: 'False', ...why },
        { type: 'ContainersReady', status: 'False', ...why },
      ],
      now,
    ),
    containerStatuses: containersOf(pod, 'containers').map((one) =>
      containerStatus(
        one,
        { terminated: { exitCode, reason, startedAt, finishedAt: now } },
        { ready: false, started: false },
      ),
    ),
  };
}

/** How long a pod's containers run before they end by themselves, and how. */
export type Ending = { readonly afterMs: number; readonly exitCode: number };

/** Annotations that say so; they win over what the command says. */
const endingAnnotations = {
  seconds: 'lab.dovetail.sh/run-seconds',
  exitCode: 'lab.dovetail.sh/exit-code',
} as const;

/**
 * Whether and when the pod ends by itself. Only pods that are not restarted do. They end by their
 * annotations, or when the command of the first container consists of `sleep <seconds>`, `exit
 * <code>`, `true`, `false` and `echo …`.
 */
export function endingOf(pod: PodView): Ending | undefined {
  if ((textOf(recordOf(pod.spec)['restartPolicy']) || 'Always') === 'Always') return undefined;
  const seconds = pod.metadata.annotations?.[endingAnnotations.seconds];
  const exitCode = Number(pod.metadata.annotations?.[endingAnnotations.exitCode] ?? 0);
  if (seconds !== undefined && Number.isFinite(Number(seconds)))
    return { afterMs: Number(seconds) * 1000, exitCode };
  const [container] = containersOf(pod, 'containers');
  return container === undefined
    ? undefined
    : endingOfCommand([...listOf(container['command']), ...listOf(container['args'])].map(textOf));
}

/** The time that a command takes, by the same rules; 0 for any other command. */
export const afterCommand = (words: readonly string[]): number =>
  endingOfCommand(words)?.afterMs ?? 0;

function endingOfCommand(words: readonly string[]): Ending | undefined {
  const shell =
    /^(\/bin\/)?(sh|bash|ash)$/.test(words[0] ?? '') && /^-[a-z]*c$/.test(words[1] ?? '');
  const script = shell ? words.slice(2).join(' ') : words.join(' ');
  let afterMs = 0;
  for (const step of script
    .split(/;|&&|\n/)
    .map((one) => one.trim())
    .filter((one) => one !== '')) {
    const sleep = /^(?:\/bin\/)?sleep (\d+(?:\.\d+)?)s?$/.exec(step);
    const exit = /^exit (\d+)$/.exec(step);
    if (sleep !== null) afterMs += Number(sleep[1]) * 1000;
    else if (exit !== null) return { afterMs, exitCode: Number(exit[1]) };
    else if (/^(?:\/bin\/)?false$/.test(step)) return { afterMs, exitCode: 1 };
    else if (!/^(?:\/bin\/)?(true|:|echo\b.*)$/.test(step)) return undefined;
  }
  return script === '' ? undefined : { afterMs, exitCode: 0 };
}
