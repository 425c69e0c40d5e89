// Writes tests/conformance/cloud/karpenter-allocatable.txt: what nodes have to give by Karpenter's
// own code, for every type of the bundled catalog.
//
//   npx tsx --conditions=@dovetail/source bench/peers/karpenter-allocatable/generate.ts
// It needs go. The first time it compiles Karpenter's provider, which takes some minutes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { catalogFor, catalogRegions } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import { systemClock } from '@dovetail/runtime';
import { accountFor, createCloud, serveCloud } from '@dovetail/sim-cloud';
import { run } from '@dovetail/testbed';

const region = 'us-east-1';
const output = join(
  import.meta.dirname,
  '../../../tests/conformance/cloud/karpenter-allocatable.txt',
);

/** Every type of the catalog, as if one region had them all. */
const types = new Map(
  catalogRegions()
    .flatMap((name) => catalogFor(name))
    .map(({ facts }) => [facts.name, { facts, zones: [`${region}a`] }]),
);
const twin = createCloud({
  clock: systemClock,
  seed: 'allocatable',
  account: accountFor(region, { clusterName: 'lab', types: [...types.values()] }),
  settings: { limits: 'none' },
});
const served = await serveCloud(twin);
try {
  const { stdout } = await run('nice', ['go', 'run', '.'], {
    cwd: import.meta.dirname,
    env: {
      GOWORK: 'off',
      CGO_ENABLED: '0',
      AWS_ENDPOINT_URL: served.endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: 'lab',
      AWS_SECRET_ACCESS_KEY: 'lab',
    },
    deadlineMs: 30 * 60_000,
    remedy: 'install Go 1.26.5 or later, and make its module proxy reachable',
  });
  const lines = stdout.trim().split('\n').sort(compareText);
  writeFileSync(output, `${lines.join('\n')}\n`);
  process.stdout.write(`wrote ${lines.length} types to ${output}\n`);
} finally {
  await served.close();
  twin.close();
}
