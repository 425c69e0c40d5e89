import { recordOf } from '@dovetail/core-kube-model';
import {
  type Clock,
  type KubeApi,
  type KubeObject,
  kubeResources,
  type Log,
  type Patch,
  type StopSignal,
} from '@dovetail/core-ports';

import { textOf } from '../model/json.js';
import { timeText } from '../model/objects.js';
import { Gate } from './gate.js';
import { type BootedInstance, nodeConditions, nodeOf } from './instance.js';
import { keepLease } from './lease.js';
import {
  creatingStatus,
  endedStatus,
  endingOf,
  hasEnded,
  nodeNameOf,
  phaseOf,
  type PodView,
  runningStatus,
} from './pod-status.js';
import { graceMsOf, stopMsOf } from './pod-stop.js';

/** How the kubelet stand-in behaves. Durations in milliseconds. */
export type NodeAgentOptions = {
  readonly kube: KubeApi;
  readonly clock: Clock;
  readonly log?: Log;
  /** From boot until the Node object exists. Default 500. */
  readonly joinMs?: number;
  /** From then until the node is Ready. Default 500. */
  readonly readyMs?: number;
  /** From binding (on a ready node) until a pod's containers run. Default 200. */
  readonly podStartMs?: number;
  /** The time that containers take to end after their preStop hooks. Default 100. */
  readonly podStopMs?: number;
  /** The interval at which each node's Lease is renewed. Default: no Leases. */
  readonly leaseMs?: number;
  /**
   * A halted machine's node becomes Ready=Unknown after this time. Default: never, because the
   * control plane does it.
   */
  readonly lostAfterMs?: number;
  /** Calls to the API at once. Default 32. */
  readonly callsMax?: number;
};

type Machine = {
  readonly instance: BootedInstance;
  readonly stop: AbortController;
  ready: boolean;
};

/**
 * The step that one pod is in. A machine that halts, a deletion of the pod, or another deletion
 * with a shorter grace period cuts it short.
 */
type PodRun = StartedPod | EndingPod;
type StartedPod = { step: 'starting' | 'running'; readonly cut: AbortController };
type EndingPod = {
  readonly step: 'ending';
  readonly sinceMs: number;
  readonly graceMs: number;
  readonly cut: AbortController;
};

const { nodes, pods } = kubeResources;

/** Plays the kubelets of any number of machines against any Kubernetes API, with one watch. */
export class NodeAgent {
  readonly #options: NodeAgentOptions;
  readonly #machines = new Map<string, Machine>();
  readonly #pods = new Map<string, PodView>();
  readonly #runs = new Map<string, PodRun>();
  readonly #onNode = new Map<string, Set<string>>();
  readonly #gate: Gate;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
    this.#gate = new Gate({
      clock: options.clock,
      atOnce: options.callsMax ?? 32,
      ...(options.log === undefined ? {} : { log: options.log }),
    });
  }

  /** Names of the nodes whose machines run. */
  nodeNames(): readonly string[] {
    return [...this.#machines.keys()].sort();
  }

  /**
   * Boots a machine: its node joins, becomes ready, and runs the pods bound to it. A second boot
   * changes nothing.
   */
  boot(instance: BootedInstance): void {
    if (this.#machines.has(instance.nodeName)) return;
    const machine: Machine = { instance, stop: new AbortController(), ready: false };
    this.#machines.set(instance.nodeName, machine);
    void this.#join(machine);
  }

  /**
   * Halts a machine: it stops answering. Its node object stays for the control plane or the cloud
   * controller.
   */
  halt(nodeName: string): void {
    const machine = this.#machines.get(nodeName);
    if (machine === undefined) return;
    machine.stop.abort();
    this.#machines.delete(nodeName);
    for (const uid of this.#onNode.get(nodeName) ?? []) {
      this.#runs.get(uid)?.cut.abort();
      this.#runs.delete(uid);
    }
    void this.#lose(nodeName);
  }

  /** Watches pods for as long as `stop` allows. Rejects only when the watch does. */
  async run(stop: StopSignal): Promise<void> {
    const project = (object: KubeObject): PodView => object;
    for await (const event of this.#options.kube.watch(
      { resource: pods, fieldSelector: 'spec.nodeName!=', project },
      stop,
    )) {
      if (event.kind === 'set') this.#see(event.value);
      else if (event.kind === 'gone') this.#forget(event.uid);
    }
    for (const machine of this.#machines.values()) machine.stop.abort();
  }

  async #join(machine: Machine): Promise<void> {
    const { kube, clock, joinMs = 500, readyMs = 500, leaseMs } = this.#options;
    const { instance, stop } = machine;
    await clock.sleep(joinMs, stop.signal);
    const node = nodeOf(instance, timeText(clock.nowMs()));
    await this.#gate.call('node-join', stop.signal, async () => {
      if ((await kube.get({ resource: nodes, name: instance.nodeName })) === undefined)
        await kube.create(nodes, node);
    });
    if (leaseMs !== undefined)
      void keepLease(
        { kube, clock, gate: this.#gate },
        { nodeName: instance.nodeName, everyMs: leaseMs },
        stop.signal,
      );
    await clock.sleep(readyMs, stop.signal);
    await this.#setConditions(instance.nodeName, 'ready', stop.signal);
    if (stop.signal.aborted) return;
    machine.ready = true;
    for (const uid of this.#onNode.get(instance.nodeName) ?? []) this.#act(uid);
  }

  async #setConditions(nodeName: string, state: 'ready' | 'lost', stop: StopSignal): Promise<void> {
    const { kube, clock } = this.#options;
    const body = { status: { conditions: nodeConditions(state, timeText(clock.nowMs())) } };
    await this.#gate.call(
      `node-${state}`,
      stop,
      async () =>
        void (await kube.patch(
          { resource: nodes, name: nodeName },
          { type: 'merge', body },
          { subresource: 'status' },
        )),
    );
  }

  async #lose(nodeName: string): Promise<void> {
    const { clock, lostAfterMs } = this.#options;
    if (lostAfterMs === undefined) return;
    const never = new AbortController().signal;
    await clock.sleep(lostAfterMs, never);
    if (!this.#machines.has(nodeName)) await this.#setConditions(nodeName, 'lost', never);
  }

  #see(pod: PodView): void {
    const uid = textOf(pod.metadata.uid);
    const nodeName = nodeNameOf(pod);
    if (!this.#pods.has(uid))
      this.#onNode.set(nodeName, (this.#onNode.get(nodeName) ?? new Set()).add(uid));
    this.#pods.set(uid, pod);
    this.#act(uid);
  }

  #forget(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#onNode.get(nodeNameOf(pod))?.delete(uid);
    this.#pods.delete(uid);
    this.#runs.get(uid)?.cut.abort();
    this.#runs.delete(uid);
  }

  /** Starts what the pod's state asks for, unless it is under way. */
  #act(uid: string): void {
    const pod = this.#pods.get(uid);
    const machine = pod === undefined ? undefined : this.#machines.get(nodeNameOf(pod));
    if (pod === undefined || machine === undefined) return;
    const run = this.#runs.get(uid);
    if (pod.metadata.deletionTimestamp !== undefined) {
      const graceMs = graceMsOf(pod);
      if (run?.step === 'ending' && run.graceMs <= graceMs) return;
      run?.cut.abort();
      const sinceMs = run?.step === 'ending' ? run.sinceMs : this.#options.clock.nowMs();
      const ending = { step: 'ending', sinceMs, graceMs, cut: new AbortController() } as const;
      this.#runs.set(uid, ending);
      void this.#end(pod, ending);
      return;
    }
    if (run !== undefined || !machine.ready || hasEnded(pod)) return;
    const starting: StartedPod = { step: 'starting', cut: new AbortController() };
    this.#runs.set(uid, starting);
    void this.#start(pod, machine, starting);
  }

  async #start(pod: PodView, machine: Machine, run: StartedPod): Promise<void> {
    const { clock, podStartMs = 200 } = this.#options;
    const signal = run.cut.signal;
    const now = (): string => timeText(clock.nowMs());
    if (phaseOf(pod) === 'Pending') {
      if (recordOf(pod.status)['startTime'] === undefined)
        await this.#report(
          pod,
          () => creatingStatus(this.#latest(pod), machine.instance, now()),
          signal,
        );
      await clock.sleep(podStartMs, signal);
      await this.#report(pod, () => runningStatus(this.#latest(pod), now()), signal);
    }
    run.step = 'running';
    const ending = endingOf(pod);
    if (ending === undefined || signal.aborted) return;
    await clock.sleep(ending.afterMs, signal);
    await this.#report(pod, () => endedStatus(this.#latest(pod), ending.exitCode, now()), signal);
  }

  async #end(pod: PodView, { sinceMs, cut }: EndingPod): Promise<void> {
    const { kube, clock, podStopMs = 100 } = this.#options;
    const stop = cut.signal;
    const endMs = sinceMs + stopMsOf(pod, podStopMs);
    if (!hasEnded(pod)) await clock.sleep(Math.max(0, endMs - clock.nowMs()), stop);
    // A finalizer's owner wants to see how the pod ended.
    if ((pod.metadata.finalizers ?? []).length > 0 && !hasEnded(pod))
      await this.#report(
        pod,
        () => endedStatus(this.#latest(pod), 143, timeText(clock.nowMs())),
        stop,
      );
    const { name, namespace = '', uid = '' } = pod.metadata;
    await this.#gate.call('pod-end', stop, () =>
      kube.delete({ resource: pods, name, namespace }, { uid, gracePeriodSeconds: 0 }),
    );
  }

  #latest(pod: PodView): PodView {
    return this.#pods.get(textOf(pod.metadata.uid)) ?? pod;
  }

  async #report(pod: PodView, status: () => object, stop: StopSignal): Promise<void> {
    const { name, namespace = '', uid } = pod.metadata;
    // The uid in the body refuses another pod of the same name.
    await this.#gate.call('pod-status', stop, async () => {
      const patch: Patch = { type: 'merge', body: { metadata: { uid }, status: status() } };
      await this.#options.kube.patch({ resource: pods, name, namespace }, patch, {
        subresource: 'status',
      });
    });
  }
}

/** The kubelets of all machines. Call `run` once, and `boot` and `halt` as machines come and go. */
export const createNodeAgent = (options: NodeAgentOptions): NodeAgent => new NodeAgent(options);
