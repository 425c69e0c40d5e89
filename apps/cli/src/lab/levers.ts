import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

import { periodText } from '@dovetail/core-fleet/words';

import { labFiles } from './addresses.js';
import { LabError, labExitCodes, type LabTwin, type Machine } from './twin.js';

const described = ({ privateDnsName, instanceId, instanceType, zone }: Machine): string =>
  `${privateDnsName} (${instanceId}, ${instanceType} in ${zone})`;

const refused = (message: string): LabError => new LabError(labExitCodes.refused, message);

/** EC2 takes a Spot instance after a notice. */
export async function interrupt(twin: LabTwin, name: string, noticeMs: number): Promise<string> {
  const machine = await twin.machine(name);
  const { instanceId, capacityType } = machine;
  if (capacityType !== 'spot')
    throw refused(
      `${described(machine)} is on demand, and EC2 interrupts only Spot: use dovetail lab stop, impair or retire, or name a Spot node (dovetail lab instances)`,
    );
  await twin.ask('POST', 'interrupt', { instanceId, noticeMs });
  return `EC2 takes ${described(machine)} in ${periodText(noticeMs)}, and has sent the notice`;
}

/** EC2 says that a Spot instance has become more likely to be taken. */
export async function rebalance(twin: LabTwin, name: string): Promise<string> {
  const machine = await twin.machine(name);
  await twin.ask('POST', 'notices', { kind: 'rebalance', instanceId: machine.instanceId });
  return `EC2 has recommended to leave ${described(machine)}`;
}

/** Someone stops an instance in AWS' console. */
export async function stop(twin: LabTwin, name: string): Promise<string> {
  const machine = await twin.machine(name);
  await twin.ask('POST', 'stop', { instanceId: machine.instanceId });
  return `${described(machine)} stops, as if someone had stopped it in the console`;
}

/** A status check of EC2 fails, or passes again. */
export async function impair(
  twin: LabTwin,
  name: string,
  { check, undo }: { readonly check: 'instance' | 'system'; readonly undo: boolean },
): Promise<string> {
  const machine = await twin.machine(name);
  const { instanceId } = machine;
  await twin.ask('POST', 'health', { instanceId, [check]: undo ? 'ok' : 'impaired' });
  return `the ${check} status check of ${described(machine)} ${undo ? 'passes again' : 'fails'}`;
}

/** EC2 announces the end of an instance's hardware. */
export async function retire(twin: LabTwin, name: string): Promise<string> {
  const machine = await twin.machine(name);
  const { instanceId } = machine;
  await twin.ask('POST', 'scheduled-events', { instanceId, code: 'instance-retirement' });
  return `EC2 has announced that it retires ${described(machine)} in two weeks`;
}

/** The pools of EC2's capacity that an order is about. A part that is left out means all. */
export type Pools = {
  readonly type?: string;
  readonly zone?: string;
  readonly capacityType?: 'on-demand' | 'spot';
};

function poolsText({ type, zone, capacityType }: Pools): string {
  const what = [...[capacityType ?? []].flat(), type ?? 'every type'].join(' ');
  return `${what} in ${zone ?? 'every zone'}`;
}

/** EC2 has so many more instances to give. */
export async function capacity(
  twin: LabTwin,
  free: number | 'unlimited',
  pools: Pools,
): Promise<string> {
  const { type, zone, capacityType } = pools;
  await twin.ask('POST', 'capacity', { instanceType: type, zone, capacityType, free });
  const left = free === 'unlimited' ? 'as many as are asked for' : `${String(free)} more of each`;
  return `EC2 gives ${left}: ${poolsText(pools)}`;
}

/** A zone runs out: nothing more is launched there, and EC2 takes the Spot instances. */
export async function drainZone(
  twin: LabTwin,
  zone: string,
  { undo, noticeMs }: { readonly undo: boolean; readonly noticeMs: number },
): Promise<string> {
  await twin.ask('POST', 'capacity', { zone, free: undo ? 'unlimited' : 0 });
  if (undo) return `EC2 launches in ${zone} again`;
  const inZone = (await twin.machines()).filter((machine) => machine.zone === zone);
  const spot = inZone.filter(({ capacityType }) => capacityType === 'spot');
  for (const { instanceId } of spot) await twin.ask('POST', 'interrupt', { instanceId, noticeMs });
  const stay = inZone.length - spot.length;
  return `EC2 launches nothing more in ${zone}, and takes ${String(spot.length)} Spot node${spot.length === 1 ? '' : 's'} there in ${periodText(noticeMs)}; ${String(stay)} on demand stay (--undo ends it)`;
}

/** How calls of AWS fail. */
export type Failure = {
  readonly code: string;
  readonly times: number;
  /** The call has its effect, and only its answer is lost. */
  readonly lateLoss: boolean;
};

/** The next calls of an action fail. */
export async function fail(twin: LabTwin, action: string, failure: Failure): Promise<string> {
  const { code, times, lateLoss } = failure;
  const when = lateLoss ? 'after' : 'before';
  await twin.ask('POST', 'fail', { action, code, times, when });
  const effect = lateLoss ? 'keep the effect, but answer:' : 'answer without effect:';
  return `the next ${times === 1 ? 'call' : `${String(times)} calls`} of ${action} ${effect} ${code} (dovetail lab fail --undo ends it)`;
}

/** No call fails any more by order. */
export async function endFailures(twin: LabTwin): Promise<string> {
  await twin.ask('DELETE', 'fail');
  return 'no call fails by order any more';
}

/** AWS allows so many calls of an action a second; undefined: as many as AWS documents. */
export async function throttle(
  twin: LabTwin,
  action: string,
  perSecond: number | undefined,
): Promise<string> {
  const limit =
    perSecond === undefined
      ? { documented: true }
      : { capacity: Math.max(1, perSecond), refillPerSecond: perSecond };
  await twin.ask('POST', 'limits', { action, ...limit });
  return perSecond === undefined
    ? `AWS allows as many calls of ${action} as it documents`
    : `AWS allows ${String(perSecond)} calls of ${action} a second (--undo ends it)`;
}

/** Each call of an action takes so long. */
export async function slow(twin: LabTwin, action: string, ms: number): Promise<string> {
  await twin.ask('POST', 'latency', { action, ms });
  return ms === 0
    ? `calls of ${action} take no longer than they must`
    : `each call of ${action} takes ${String(ms)} ms (0s ends it)`;
}

/** Spot becomes dearer or cheaper. */
export async function price(
  twin: LabTwin,
  factor: number,
  pools: Omit<Pools, 'capacityType'> & { readonly family?: string },
): Promise<string> {
  const { type, family, zone } = pools;
  const percent = Math.round(factor * 100);
  await twin.ask('POST', 'prices', { percent, instanceType: type, family, zone });
  const of = poolsText({
    ...pools,
    type: type ?? (family === undefined ? 'every type' : `${family}.*`),
  });
  return `Spot now costs ${String(percent / 100)} times what the twin draws for it: ${of} (1 ends it; the launcher sees it when it next reads prices)`;
}

/** AWS releases images of a version of Kubernetes, so nodes of older ones drift. */
export async function releaseImages(twin: LabTwin, version: string | undefined): Promise<string> {
  const { cluster } = await twin.ask<{ readonly cluster: { readonly version: string } }>(
    'GET',
    'account',
  );
  const kubernetesVersion = version ?? cluster.version;
  const { release } = await twin.ask<{ readonly release: string }>('POST', 'images/release', {
    kubernetesVersion,
  });
  return `AWS has released the images ${release} for Kubernetes ${kubernetesVersion}`;
}

/**
 * Moves the time of the lab's services and twins on, by the file that all their clocks read. The
 * file is replaced at once, so that no reader finds it empty.
 */
export function advanceClock(byMs: number): string {
  if (!existsSync(labFiles.clock))
    throw new LabError(
      labExitCodes.unavailable,
      `the lab of this folder has no clock to move (there is no ${labFiles.clock}): start one with make lab`,
    );
  const offsetMs = Number(readFileSync(labFiles.clock, 'utf8')) + byMs;
  writeFileSync(`${labFiles.clock}.new`, String(offsetMs));
  renameSync(`${labFiles.clock}.new`, labFiles.clock);
  return `the lab's time went on by ${periodText(byMs)}, and is ${periodText(offsetMs)} ahead of this machine's`;
}
