import { stringify } from 'yaml';

import { disruption } from './disruption.js';
import { ec2NodeClass } from './ec2-node-class.js';
import { awsNodeTemplate, provisioner } from './legacy.js';
import { nodeClaim, nodePool } from './node-pool.js';
import type { Schema } from './schema.js';

const header =
  '# Written by tools/crds (npx tsx --conditions=@dovetail/source tools/crds/generate.ts); change it there.\n';

/** The six CustomResourceDefinitions, by file name. */
export function crdFiles(): ReadonlyMap<string, string> {
  const all: readonly (readonly [string, Schema])[] = [
    ['karpenter.sh_nodepools.yaml', nodePool()],
    ['karpenter.sh_nodeclaims.yaml', nodeClaim()],
    ['karpenter.k8s.aws_ec2nodeclasses.yaml', ec2NodeClass()],
    ['dovetail.sh_disruptions.yaml', disruption()],
    ['karpenter.sh_provisioners.yaml', provisioner()],
    ['karpenter.k8s.aws_awsnodetemplates.yaml', awsNodeTemplate()],
  ];
  return new Map(
    all.map(([name, crd]) => [
      name,
      header + stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false }),
    ]),
  );
}
