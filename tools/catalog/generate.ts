// Generates libs/core/ec2-model/src/generated/catalog.ts: the instance types of EC2 as public
// packages state them.
//
//   npx tsx tools/catalog/generate.ts
// It needs pip, python3 and go, and writes nothing but that file.
//
// Sources (see NOTICE beside this file):
//   - moto (PyPI): types in the shape of DescribeInstanceTypes, and the zones of 30 regions that
//     offer each;
//   - github.com/aws/karpenter-provider-aws (Go module): on-demand prices of us-east-1, interfaces,
//     trunk interfaces and the bandwidth that Karpenter prints on nodes, none of which
//     DescribeInstanceTypes carries.
// Facts are copied, code is not. The Go sources are read as text: compiling them would fetch
// hundreds of modules.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { compareText } from '@dovetail/core-kube-model';

import { encodeType, type KarpenterFacts, type Region } from './encode.js';
import { missingTypes } from './missing-types.js';

const versions = { moto: '5.2.5', karpenter: 'v1.14.0' };
const here = dirname(fileURLToPath(import.meta.url));
const output = join(here, '../../libs/core/ec2-model/src/generated/catalog.ts');

const scratch = mkdtempSync(join(tmpdir(), 'catalog-'));
try {
  const moto = fetchMoto(scratch);
  const karpenter = fetchKarpenter(scratch);
  writeFileSync(output, render(withMissing(readMoto(moto)), readKarpenter(karpenter)));
  console.log(`wrote ${output}`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

type Offering = { readonly InstanceType: string; readonly Location: string };
type Moto = { readonly types: readonly InstanceTypeInfo[]; readonly regions: readonly Region[] };

function run(command: string, args: readonly string[], cwd?: string): string {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (done.status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${done.error?.message ?? done.stderr}`);
  return done.stdout;
}

function fetchMoto(folder: string): string {
  run('pip', [
    'download',
    '--quiet',
    '--no-deps',
    '--only-binary',
    ':all:',
    '-d',
    folder,
    `moto==${versions.moto}`,
  ]);
  const wheel = readdirSync(folder).find(
    (name) => name.startsWith('moto-') && name.endsWith('.whl'),
  );
  run('python3', ['-m', 'zipfile', '-e', wheel ?? 'moto.whl', 'moto'], folder);
  return join(folder, 'moto', 'moto', 'ec2');
}

function fetchKarpenter(folder: string): string {
  const answer = run(
    'go',
    ['mod', 'download', '-json', `github.com/aws/karpenter-provider-aws@${versions.karpenter}`],
    folder,
  );
  return join((JSON.parse(answer) as { readonly Dir: string }).Dir, 'pkg', 'providers');
}

function readMoto(folder: string): Moto {
  const json = <T>(...path: readonly string[]): T =>
    JSON.parse(gunzipSync(readFileSync(join(folder, 'resources', ...path))).toString()) as T;
  const offerings = (by: string, region: string): readonly Offering[] =>
    json('instance_type_offerings', by, `${region}.json.gz`);
  const files = readdirSync(
    join(folder, 'resources', 'instance_type_offerings', 'availability-zone'),
  );
  const regions = files.map((name) => name.replace('.json.gz', '')).sort();
  return {
    types: Object.values(
      json<Readonly<Record<string, InstanceTypeInfo>>>('instance_types.json.gz'),
    ),
    regions: regions.map((name) =>
      regionOf(name, offerings('availability-zone', name), offerings('availability-zone-id', name)),
    ),
  };
}

function regionOf(
  name: string,
  byZone: readonly Offering[],
  byZoneId: readonly Offering[],
): Region {
  const zones = typesByLocation(byZone);
  const names = [...zones.keys()];
  const offered = new Map<string, number>();
  names.forEach((zone, index) =>
    zones.get(zone)?.forEach((type) => offered.set(type, (offered.get(type) ?? 0) | (1 << index))),
  );
  const ids = idsOf(zones, typesByLocation(byZoneId));
  return { name, zones: names.map((zone) => ({ name: zone, id: ids.get(zone) ?? '' })), offered };
}

type TypesByPlace = ReadonlyMap<string, ReadonlySet<string>>;

function typesByLocation(offerings: readonly Offering[]): TypesByPlace {
  const types = new Map(
    [...new Set(offerings.map(({ Location }) => Location))]
      .sort()
      .map((location) => [location, new Set<string>()] as const),
  );
  for (const { InstanceType, Location } of offerings) types.get(Location)?.add(InstanceType);
  return types;
}

/**
 * A zone's id is that of the zone that offers the same types, as seen by the account that the facts
 * were read with. The rest is paired in order.
 */
function idsOf(zones: TypesByPlace, zoneIds: TypesByPlace): ReadonlyMap<string, string> {
  const left = new Map(zoneIds);
  const same = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
    a.size === b.size && [...a].every((type) => b.has(type));
  const ids = new Map<string, string>();
  const claim = (zone: string, id: string): void => {
    ids.set(zone, id);
    left.delete(id);
  };
  for (const [zone, types] of zones) {
    const found = [...left].find(([, others]) => same(types, others));
    if (found) claim(zone, found[0]);
  }
  for (const zone of zones.keys()) if (!ids.has(zone)) claim(zone, [...left.keys()][0] ?? '');
  return ids;
}

function readKarpenter(folder: string): KarpenterFacts {
  const text = (...path: readonly string[]): string => readFileSync(join(folder, ...path), 'utf8');
  const numbers = (source: string, pattern: RegExp): ReadonlyMap<string, number> =>
    new Map(
      [...source.matchAll(pattern)].map(([, name = '', value]) => [name, Number(value)] as const),
    );
  const limits = text('instancetype', 'zz_generated.vpclimits.go');
  const branches = [
    ...limits.matchAll(
      /^\t"([\w.-]+)": \{[^}]*?IsTrunkingCompatible:\s+(true|false),\s+BranchInterface:\s+(\d+),/gm,
    ),
  ];
  return {
    prices: numbers(
      text('pricing', 'zz_generated.pricing_aws.go'),
      /"([a-z][\w-]*\.[\w-]+)": ([\d.]+)/g,
    ),
    bandwidths: numbers(
      text('instancetype', 'zz_generated.bandwidth.go'),
      /^\s+"([\w.-]+)":\s+(\d+),/gm,
    ),
    interfaces: interfacesIn(limits),
    branches: new Map(
      branches.map(
        ([, name = '', trunking, count]) =>
          [name, trunking === 'true' ? Number(count) : 0] as const,
      ),
    ),
  };
}

/** The interfaces of each type's default card in Karpenter's table, and the addresses of each. */
function interfacesIn(limits: string): KarpenterFacts['interfaces'] {
  const entries = [...limits.matchAll(/^\t"([\w.-]+)": \{([^]*?)\n\t\},/gm)];
  return new Map(
    entries.flatMap(([, name = '', body = '']) => {
      const cards = [
        ...body.matchAll(/MaximumNetworkInterfaces: (\d+),\s+NetworkCardIndex:\s+(\d+)/g),
      ];
      const [, index] = /DefaultNetworkCardIndex: (\d+)/.exec(body) ?? [];
      const [, addresses] = /IPv4PerInterface:\s+(\d+)/.exec(body) ?? [];
      const card = cards.find((one) => one[2] === index);
      return card === undefined || addresses === undefined
        ? []
        : [[name, [Number(card[1]), Number(addresses)]] as const];
    }),
  );
}

/** moto's types and those that it lacks. The latter are offered in us-east-1 only. */
function withMissing({ types, regions }: Moto): Moto {
  const known = new Set(types.map((type) => type.InstanceType));
  const added = missingTypes.filter(({ type }) => !known.has(type.InstanceType));
  for (const { offered } of regions.filter(({ name }) => name === 'us-east-1'))
    for (const { type, zonesOf } of added)
      offered.set(type.InstanceType ?? '', offered.get(zonesOf) ?? 0);
  return { types: [...types, ...added.map(({ type }) => type)], regions };
}

/** Macs boot none of our images and can be had only as dedicated hosts. */
function bootsLinux(type: InstanceTypeInfo): boolean {
  const architectures = type.ProcessorInfo?.SupportedArchitectures ?? [];
  return architectures.some((arch) => arch === 'x86_64' || arch === 'arm64');
}

function render(moto: Moto, karpenter: KarpenterFacts): string {
  const nameOf = (type: InstanceTypeInfo): string => type.InstanceType ?? '';
  const types = moto.types.filter(bootsLinux).sort((a, b) => compareText(nameOf(a), nameOf(b)));
  // If a source's format has changed, this must fail here and not give a table with holes.
  for (const [what, count] of [
    ['types', types.length],
    ['prices', karpenter.prices.size],
    ['bandwidths', karpenter.bandwidths.size],
    ['branches', karpenter.branches.size],
    ['interfaces', karpenter.interfaces.size],
  ] as const) {
    if (count < 1300)
      throw new Error(`only ${count} ${what} found: has the source's format changed?`);
  }
  if (moto.regions.some((region) => region.zones.length > 6))
    throw new Error('a region has over 6 zones: a zone mask no longer fits one character');
  const regionLines = moto.regions.map(
    (region) => `${region.name} ${region.zones.map((zone) => `${zone.name}=${zone.id}`).join(' ')}`,
  );
  const typeLines = types.map((type) => encodeType(type, moto.regions, karpenter));
  return `/* eslint-disable */
// Generated by tools/catalog/generate.ts from moto ${versions.moto} and karpenter-provider-aws
// ${versions.karpenter}; see tools/catalog/NOTICE. Do not edit.

/** The region whose on-demand prices the table holds. */
export const catalogPriceRegion = 'us-east-1';

/** One region a line: its name, then each zone with its zone id. */
export const catalogRegionLines = \`${regionLines.join('\n')}\`;

/** One type a line; its fields are described where they are read (catalog-line.ts). */
export const catalogTypeLines = \`${typeLines.join('\n')}\`;
`;
}
