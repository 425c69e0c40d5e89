import {
  blockDeviceMappings,
  classStatus,
  discovered,
  kubelet,
  launchTags,
  metadataOptions,
} from './class-fields.js';
import { nodeLabels, requirements, resourceList, taints } from './scheduling-fields.js';
import type { Schema } from './schema.js';
import {
  age,
  column,
  conditions,
  definition,
  described,
  fields,
  flag,
  int32,
  int64,
  mapOf,
  readyColumn,
  rules,
  text,
  time,
  words,
} from './schema.js';

const provisionerRules = rules(
  [
    'has(self.provider) != has(self.providerRef)',
    'expected exactly one of provider and providerRef',
  ],
  [
    '!(has(self.ttlSecondsAfterEmpty) && has(self.consolidation) && has(self.consolidation.enabled) && self.consolidation.enabled)',
    'ttlSecondsAfterEmpty and consolidation.enabled exclude each other',
  ],
);

const provisionerSpec = (): Schema =>
  fields(
    {
      annotations: mapOf(text()),
      labels: nodeLabels(),
      taints: taints('Taints that the nodes keep.'),
      startupTaints: taints('Taints that something removes while a node starts.'),
      requirements: requirements({ poolKeys: 'refused' }),
      kubeletConfiguration: kubelet({
        containerRuntime: described(
          'Accepted and not read: nodes run the runtime of their images, which is containerd.',
          text(),
        ),
      }),
      provider: described('How the nodes boot, written here instead of in an AWSNodeTemplate.', {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
      }),
      providerRef: fields({ apiVersion: text(), kind: text(), 'name!': text({ minLength: 1 }) }),
      ttlSecondsAfterEmpty: described(
        'How long a node may be empty; absent: for ever.',
        int64({ minimum: 0 }),
      ),
      ttlSecondsUntilExpired: described(
        'How long a node lives; absent: for ever.',
        int64({ minimum: 0 }),
      ),
      consolidation: fields({ enabled: flag() }),
      limits: fields({
        resources: resourceList("The most that the pool's nodes may have together."),
      }),
      weight: int32({ minimum: 1, maximum: 100 }),
    },
    provisionerRules,
  );

const provisionerStatus = (): Schema =>
  fields({
    lastScaleTime: time(),
    resources: resourceList("The resources of the pool's nodes together."),
    nodes: int64(),
    provider: described('Discovered for the inline provider.', fields(discovered())),
    conditions: conditions(),
  });

/**
 * Provisioner, karpenter.sh/v1alpha5. The schema and the parser now hold the rules and defaults of
 * Karpenter's own webhooks.
 */
export const provisioner = (): Schema =>
  definition({
    group: 'karpenter.sh',
    version: 'v1alpha5',
    kind: 'Provisioner',
    plural: 'provisioners',
    description: 'The nodes that Dovetail may launch, in the older API; NodePool is the newer.',
    columns: [
      age(),
      column('Template', '.spec.providerRef.name', 'string', 1),
      column('Weight', '.spec.weight', 'integer', 1),
      readyColumn(1),
    ],
    spec: provisionerSpec(),
    status: provisionerStatus(),
  });

const selector = (description: string): Schema =>
  described(
    description,
    mapOf(
      text(),
      rules([
        "self.all(k, k != '' && self[k] != '')",
        'empty selector keys or values are not supported',
      ]),
    ),
  );

/** The fields whose content a launch template of the user's own has (Karpenter's rule). */
const templateContent = [
  'amiFamily',
  'amiSelector',
  'blockDeviceMappings',
  'instanceProfile',
  'metadataOptions',
  'securityGroupSelector',
  'userData',
];

const ownTemplate = (description: string): Schema =>
  described(
    description,
    text({
      minLength: 1,
      ...rules([
        "!self.startsWith('dovetail/')",
        "templates whose names begin with dovetail/ are Dovetail's own",
      ]),
    }),
  );

const nodeTemplateSpec = (): Schema =>
  fields(
    {
      amiFamily: words(
        'AL2',
        'AL2023',
        'Bottlerocket',
        'Ubuntu',
        'Windows2019',
        'Windows2022',
        'Custom',
      ),
      amiSelector: selector(
        'Tags, aws-ids, aws::name and aws::owners; commas separate alternatives.',
      ),
      subnetSelector: selector('Tags and aws-ids; commas separate alternatives, "*" is any value.'),
      securityGroupSelector: selector(
        'Tags and aws-ids; commas separate alternatives, "*" is any value.',
      ),
      instanceProfile: text({ minLength: 1 }),
      userData: text(),
      tags: launchTags(),
      blockDeviceMappings: blockDeviceMappings(),
      metadataOptions: metadataOptions('without-defaults'),
      detailedMonitoring: flag(),
      context: text(),
      launchTemplate: ownTemplate(
        'A launch template of your own; only subnets and types are chosen.',
      ),
      launchTemplateName: ownTemplate('The same as launchTemplate.'),
      apiVersion: text(),
      kind: text(),
    },
    rules([
      `!(has(self.launchTemplate) || has(self.launchTemplateName)) || !(${templateContent.map((field) => `has(self.${field})`).join(' || ')})`,
      `launchTemplate has the content of ${templateContent.join(', ')}: leave these out`,
    ]),
  );

/** AWSNodeTemplate, karpenter.k8s.aws/v1alpha1. */
export const awsNodeTemplate = (): Schema =>
  definition({
    group: 'karpenter.k8s.aws',
    version: 'v1alpha1',
    kind: 'AWSNodeTemplate',
    plural: 'awsnodetemplates',
    description: 'How nodes boot on EC2, in the older API; EC2NodeClass is the newer.',
    columns: [age(), readyColumn(1)],
    spec: nodeTemplateSpec(),
    status: classStatus(),
  });
