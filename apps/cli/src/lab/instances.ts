import { periodText } from '@dovetail/core-fleet/words';

import { columns, type Layout } from '../layout/columns.js';
import { labNowMs } from './addresses.js';
import { claimOf, type LabTwin, type Machine } from './twin.js';

/** The name and version of the form of `dovetail lab instances -o json`. It only gains fields. */
const instancesSchema = 'dovetail.sh/lab-instances/v1';

/** The lab's instances, for people or as JSON, the oldest first. */
export async function instancesText(
  twin: LabTwin,
  output: 'table' | 'json',
  layout: Layout,
): Promise<string> {
  const machines = await twin.machines();
  if (output === 'json')
    return `${JSON.stringify({ schema: instancesSchema, instances: machines.map(instanceOf) }, undefined, 2)}\n`;
  if (machines.length === 0) return 'the lab has no instance\n';
  const nowMs = labNowMs();
  const header = ['NODE', 'CLAIM', 'INSTANCE', 'TYPE', 'BOUGHT', 'ZONE', 'STATE', '$/H', 'AGE'];
  const rows = machines.map((machine) => [
    machine.privateDnsName,
    claimOf(machine) ?? '-',
    machine.instanceId,
    machine.instanceType,
    machine.capacityType,
    machine.zone,
    machine.state,
    priceText(machine),
    periodText(nowMs - machine.launchedMs),
  ]);
  return columns(header, rows, layout);
}

const priceText = ({ hourlyPriceMicros: micros }: Machine): string =>
  micros === undefined ? '-' : (micros / 1e6).toFixed(4);

const instanceOf = (machine: Machine) => ({
  node: machine.privateDnsName,
  claim: claimOf(machine),
  instanceId: machine.instanceId,
  instanceType: machine.instanceType,
  capacityType: machine.capacityType,
  zone: machine.zone,
  state: machine.state,
  launched: new Date(machine.launchedMs).toISOString(),
  priceMicrosPerHour: machine.hourlyPriceMicros,
});

type CallCount = {
  readonly action: string;
  readonly calls: number;
  readonly failed: number;
  readonly throttled: number;
};

/** How often each action of AWS was called since the lab began. */
export async function callsText(twin: LabTwin, layout: Layout): Promise<string> {
  const counts = await twin.ask<readonly CallCount[]>('GET', 'calls');
  if (counts.length === 0) return 'nothing has called AWS\n';
  const rows = counts.map(({ action, calls, failed, throttled }) => [
    action,
    String(calls),
    String(failed),
    String(throttled),
  ]);
  return columns(['ACTION', 'CALLS', 'FAILED', 'THROTTLED'], rows, layout);
}
