// Writes the list of Karpenter's metrics from its sources. A page of docs/reference compares it.
// Usage: npm run karpenter-metrics CORE AWS
// CORE and AWS are unpacked Go modules: sigs.k8s.io/karpenter and karpenter-provider-aws.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { metricsOfKarpenter } from './karpenter-source.js';

const folders = process.argv.slice(2);
if (folders.length !== 2)
  throw new Error('give two folders: of sigs.k8s.io/karpenter and of karpenter-provider-aws');
writeFileSync(
  fileURLToPath(new URL('karpenter-1.15-metrics.json', import.meta.url)),
  `${JSON.stringify(metricsOfKarpenter(folders), null, 2)}\n`,
);
