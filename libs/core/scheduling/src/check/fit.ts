import { labels, poolKey } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { at, lookUp } from '@dovetail/core-invariant';
import {
  addResources,
  admits,
  canonicalKey,
  type DaemonSet,
  describeTaint,
  firstUntolerated,
  fits,
  type Pod,
  requirementsOf,
  subtractResources,
  sumResources,
  type Taint,
} from '@dovetail/core-kube-model';

import type { NewNode, Violation } from '../plan.js';
import type { PlanOptions, PoolOptions, Surroundings } from '../snapshot.js';
import {
  type Blueprint,
  firstRefused,
  type Host,
  type Labels,
  labelsSatisfy,
  podMayAccept,
  type Variant,
} from './hosts.js';
import { otherForms } from './new-hosts.js';
import { TakenPorts } from './taken-ports.js';
import { volumeViolations } from './volumes.js';

const broken = (code: Violation['code'], host: Host, message: string, pod?: Pod): Violation => ({
  code,
  where: host.name,
  message,
  ...(pod === undefined ? {} : { podUid: pod.uid }),
});

/** Labels that a node has only once it is ready. Daemonsets may wait for them. */
const lifecycle: Labels = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' };

function daemonRuns(daemon: DaemonSet, variant: Variant, taints: readonly Taint[]): boolean {
  return (
    firstUntolerated(taints, daemon.template.tolerations) === undefined &&
    podMayAccept(daemon.template, variant, lifecycle)
  );
}

function portViolations(host: Host, daemons: readonly Pod[]): readonly Violation[] {
  const wanting = host.planned.filter(({ hostPorts }) => hostPorts.length > 0);
  if (wanting.length === 0) return [];
  const taken = new TakenPorts();
  for (const pod of [...host.running, ...daemons]) taken.add(pod);
  const violations: Violation[] = [];
  for (const pod of wanting) {
    for (const port of pod.hostPorts) {
      if (taken.collides(port))
        violations.push(
          broken(
            'host-port',
            host,
            `pod ${pod.uid} wants host port ${port.port}, which is taken`,
            pod,
          ),
        );
    }
    taken.add(pod);
  }
  return violations;
}

function podViolations(host: Host): readonly Violation[] {
  return host.planned.flatMap((pod) => {
    const found: Violation[] = [];
    const taint = firstUntolerated(host.taints, pod.tolerations);
    if (taint !== undefined)
      found.push(
        broken(
          'taint-not-tolerated',
          host,
          `pod ${pod.uid} does not tolerate ${describeTaint(taint)}`,
          pod,
        ),
      );
    const refused = firstRefused(pod, host);
    if (refused !== undefined)
      found.push(
        broken(
          'requirement-mismatch',
          host,
          `pod ${pod.uid} does not accept the labels of ${refused.option?.type.name ?? host.name}`,
          pod,
        ),
      );
    return found;
  });
}

type Fault = Pick<Violation, 'code' | 'message'>;

function optionFaults(host: Host, { option, ...variant }: Variant): readonly Fault[] {
  const pool = host.blueprint.pool?.pool;
  if (option === undefined || pool === undefined) return [];
  const found: Fault[] = [];
  const label = `${option.type.name} in ${option.offering.zone} (${option.offering.capacityType})`;
  const cap = pool.maxPriceMicrosPerHour;
  const below = host.blueprint.pool?.priceBelowMicrosPerHour ?? Infinity;
  if (!option.offering.available)
    found.push({ code: 'no-capacity', message: `${label} is not available` });
  if (option.offering.priceMicrosPerHour !== option.of.priceMicrosPerHour)
    found.push({
      code: 'wrong-price',
      message: `${label} costs ${option.offering.priceMicrosPerHour}, the plan says ${option.of.priceMicrosPerHour}`,
    });
  if (option.offering.priceMicrosPerHour >= below)
    found.push({ code: 'price-cap', message: `${label} does not cost less than ${below}` });
  if (cap !== undefined && option.offering.priceMicrosPerHour > cap)
    found.push({
      code: 'price-cap',
      message: `${label} is above the cap of ${poolKey(pool.identity)}`,
    });
  if (!labelsSatisfy(variant, pool.requirements))
    found.push({
      code: 'requirement-mismatch',
      message: `${label} does not meet the requirements of ${poolKey(pool.identity)}`,
    });
  if (!labelsSatisfy(variant, host.bin?.requirements ?? []))
    found.push({
      code: 'requirement-mismatch',
      message: `${label} does not meet the claim's own requirements`,
    });
  return found;
}

const placeKeys: ReadonlySet<string> = new Set([labels.zone, labels.zoneId, labels.capacityType]);

/** Whether a daemonset may run in one zone or capacity type and not in another. */
const asksForPlace = ({ template }: DaemonSet): boolean =>
  [
    ...Object.keys(template.nodeSelector),
    ...(template.requiredNodeAffinity ?? []).flatMap(({ matchExpressions }) =>
      matchExpressions.map(({ key }) => key),
    ),
  ].some((key) => placeKeys.has(canonicalKey(key)));

/** The types of a blueprint that run the same daemonsets. */
type Crew = { readonly daemons: readonly Pod[]; readonly types: Set<InstanceType> };
/** The facts about a blueprint that do not depend on its pods. */
type Outlook = {
  readonly daemonSets: readonly DaemonSet[];
  readonly faults: readonly Fault[];
  readonly crews: readonly Crew[];
};

const outlooks = new WeakMap<Blueprint, Outlook>();

function outlookOf(host: Host, snapshot: Surroundings): Outlook {
  const known = outlooks.get(host.blueprint);
  if (known?.daemonSets === snapshot.daemonSets) return known;
  const crews = new Map<string, Crew>();
  const { variants } = host.blueprint;
  const elsewhere = snapshot.daemonSets.some(asksForPlace) ? otherForms(variants) : [];
  for (const variant of [...variants, ...elsewhere]) {
    if (variant.option === undefined) continue;
    const daemons = snapshot.daemonSets
      .filter((daemon) => daemonRuns(daemon, variant, host.taints))
      .map((daemon) => daemon.template);
    const text = daemons.map((pod) => pod.uid).join();
    const crew = crews.get(text) ?? { daemons, types: new Set() };
    crew.types.add(variant.option.type);
    crews.set(text, crew);
  }
  const outlook = {
    daemonSets: snapshot.daemonSets,
    faults: host.blueprint.variants.flatMap((variant) => optionFaults(host, variant)),
    crews: [...crews.values()],
  };
  outlooks.set(host.blueprint, outlook);
  return outlook;
}

/**
 * Checks that every option of a new node is allowed, and holds the pods together with the
 * daemonsets of its type.
 */
function optionViolations(host: Host, snapshot: Surroundings): readonly Violation[] {
  const { faults, crews } = outlookOf(host, snapshot);
  const found = faults.map((fault) => broken(fault.code, host, fault.message));
  const wantsPorts = host.planned.some((pod) => pod.hostPorts.length > 0);
  for (const { daemons, types } of crews) {
    const requests = sumResources([...host.planned, ...daemons].map((pod) => pod.requests));
    for (const type of types) {
      if (!fits(requests, type.allocatable))
        found.push(
          broken(
            'resources-too-large',
            host,
            `${type.name} does not hold the pods and daemonsets: ${JSON.stringify(requests)} of ${JSON.stringify(type.allocatable)}`,
          ),
        );
    }
    if (wantsPorts) found.push(...portViolations(host, daemons));
  }
  return found;
}

function minValuesViolations(host: Host, options: PlanOptions): readonly Violation[] {
  const {
    bin,
    blueprint: { variants, pool },
  } = host;
  if (
    bin === undefined ||
    pool === undefined ||
    (bin.minValuesRelaxed && options.minValuesPolicy === 'BestEffort')
  )
    return [];
  const requirements = requirementsOf(bin.requirements);
  return pool.pool.requirements.flatMap((spec) => {
    if (spec.minValues === undefined) return [];
    const key = canonicalKey(spec.key);
    const allowed = requirements.get(key);
    const values = new Set<string>();
    for (const { option } of variants)
      for (const one of option?.type.requirements.get(key)?.values ?? [])
        if (allowed === undefined || admits(allowed, one)) values.add(one);
    return values.size >= spec.minValues
      ? []
      : [
          broken(
            'min-values',
            host,
            `${values.size} values of ${key} are possible, ${spec.minValues} are required`,
          ),
        ];
  });
}

function ownPoolViolations(host: Host, { pool }: PoolOptions): readonly Violation[] {
  const name = poolKey(pool.identity);
  return [
    ...(pool.deletionMs === undefined
      ? []
      : [broken('pool-deleting', host, `pool ${name} is being deleted`)]),
    ...(pool.ready ? [] : [broken('pool-not-ready', host, `pool ${name} is not ready`)]),
    ...(pool.replicas === undefined ? [] : [broken('pool-static', host, `pool ${name} is static`)]),
  ];
}

function namedOptionViolations(
  host: Host,
  bin: NewNode,
  options: PlanOptions,
): readonly Violation[] {
  const found: Violation[] = [];
  if (bin.options.length === 0 || host.blueprint.variants.length < bin.options.length)
    found.push(
      broken(
        'no-offering',
        host,
        'an option names a type or offering that the pool does not have, or there is none',
      ),
    );
  if (bin.podUids.length === 0) found.push(broken('missing-pod', host, 'a new node without pods'));
  const types = new Set(bin.options.map((one) => one.instanceType)).size;
  if (types > options.instanceTypesMax)
    found.push(
      broken(
        'no-offering',
        host,
        `${types} types are named, ${options.instanceTypesMax} are allowed`,
      ),
    );
  const dearer = bin.options.findIndex(
    (one, index) =>
      index > 0 && one.priceMicrosPerHour < at(bin.options, index - 1).priceMicrosPerHour,
  );
  if (dearer > 0) found.push(broken('wrong-price', host, 'options are not sorted by price'));
  return found;
}

function newNodeViolations(host: Host, options: PlanOptions): readonly Violation[] {
  const { bin, blueprint } = host;
  if (bin === undefined) return [];
  if (blueprint.pool === undefined)
    return [broken('no-pools', host, `pool ${poolKey(bin.pool)} does not exist`)];
  return [
    ...ownPoolViolations(host, blueprint.pool),
    ...namedOptionViolations(host, bin, options),
    ...minValuesViolations(host, options),
  ];
}

function existingViolations(host: Host, snapshot: Surroundings): readonly Violation[] {
  const node = host.existing;
  if (node === undefined || host.planned.length === 0) return [];
  const found: Violation[] = [];
  if (node.cordoned || node.state === 'deleting')
    found.push(broken('node-cordoned', host, 'the node is cordoned or being deleted'));
  const present = new Set(node.pods.map((pod) => pod.owner?.uid));
  const have = host.blueprint.variants[0] ?? { labels: {} };
  const missing = snapshot.daemonSets
    .filter((daemon) => !present.has(daemon.uid) && daemonRuns(daemon, have, node.taints))
    .map((daemon) => daemon.template);
  const taken = addResources(
    sumResources([...host.running, ...missing].map((pod) => pod.requests)),
    node.reserved,
  );
  const requests = sumResources(host.planned.map((pod) => pod.requests));
  const left = subtractResources(node.allocatable, taken);
  // Only requested resources are checked, because an overcommitted resource excludes only pods that
  // request it.
  const asked = Object.fromEntries(
    Object.keys(requests)
      .filter((name) => (lookUp(requests, name) ?? 0) > 0)
      .map((name) => [name, lookUp(left, name) ?? 0]),
  );
  if (!fits(requests, asked))
    found.push(
      broken(
        'node-full',
        host,
        `the pods request ${JSON.stringify(requests)}, and ${JSON.stringify(left)} is free`,
      ),
    );
  return [...found, ...portViolations(host, missing)];
}

/** Returns the violations that concern one node alone. */
export function hostViolations(
  host: Host,
  snapshot: Surroundings,
  options: PlanOptions,
): readonly Violation[] {
  if (host.planned.length === 0 && host.bin === undefined) return [];
  return [
    ...newNodeViolations(host, options),
    ...existingViolations(host, snapshot),
    ...podViolations(host),
    ...optionViolations(host, snapshot),
    ...volumeViolations(host, snapshot),
  ];
}
