import { ubuntuTerms } from '@dovetail/core-api';
import { type Raw, readRecord } from '@dovetail/core-kube-model';

import { type Cluster, isPresent, type Tell, tellUnknown, textOf, without } from './draft.js';
import { identityOf, metadataOptionsOf, tellNoAl2Images, ubuntuRoot } from './legacy-class.js';

const templateFields = ['nodeClassRef', 'requirements', 'taints', 'startupTaints', 'kubelet'];
const poolFields = ['template', 'disruption', 'limits', 'weight'];

/** A reference to a class: v1 has the group in place of the version, and requires every part. */
function classRefOf(raw: unknown, field: string, tell: Tell): Raw {
  const ref = readRecord(raw, field);
  const [group = ''] = (textOf(ref['apiVersion']) || 'karpenter.k8s.aws/v1beta1').split('/');
  tell(field, 'has group in place of apiVersion now');
  tellUnknown(ref, ['apiVersion', 'kind', 'name', 'group'], field, tell);
  return { group: ref['group'] ?? group, kind: ref['kind'] ?? 'EC2NodeClass', name: ref['name'] };
}

function disruptionOf(disruption: Raw, field: string, tell: Tell): Raw {
  const kept = without(disruption, 'expireAfter');
  tellUnknown(kept, ['consolidationPolicy', 'consolidateAfter', 'budgets'], field, tell);
  const policy = kept['consolidationPolicy'] ?? 'WhenUnderutilized';
  if (policy !== 'WhenUnderutilized') return kept;
  const now = 'WhenEmptyOrUnderutilized';
  tell(`${field}.consolidationPolicy`, `is ${now} now, with consolidateAfter, which v1 requires`);
  return { ...kept, consolidationPolicy: now, consolidateAfter: kept['consolidateAfter'] ?? '0s' };
}

/** The NodePool of v1 for one of v1beta1. */
export function poolOfBeta(object: Raw, tell: Tell): Raw {
  const spec = readRecord(object['spec'], 'spec');
  const template = readRecord(spec['template'], 'spec.template');
  const node = readRecord(template['spec'], 'spec.template.spec');
  const disruption = readRecord(spec['disruption'], 'spec.disruption');
  const field = 'spec.template.spec';
  tell('apiVersion', 'karpenter.sh/v1');
  tellUnknown(spec, poolFields, 'spec', tell);
  tellUnknown(template, ['metadata', 'spec'], 'spec.template', tell);
  tellUnknown(node, templateFields, field, tell);
  const { expireAfter } = disruption;
  if (isPresent(expireAfter)) tell('spec.disruption.expireAfter', `is expireAfter of ${field} now`);
  const kept = Object.fromEntries(
    Object.entries(node).filter(([name]) => name !== 'kubelet' && templateFields.includes(name)),
  );
  return {
    ...object,
    apiVersion: 'karpenter.sh/v1',
    spec: {
      ...Object.fromEntries(Object.entries(spec).filter(([name]) => poolFields.includes(name))),
      template: {
        ...(isPresent(template['metadata']) ? { metadata: template['metadata'] } : {}),
        spec: {
          ...kept,
          nodeClassRef: classRefOf(node['nodeClassRef'], `${field}.nodeClassRef`, tell),
          ...(isPresent(expireAfter) ? { expireAfter } : {}),
        },
      },
      disruption: disruptionOf(disruption, 'spec.disruption', tell),
    },
  };
}

type Images = { readonly version: Cluster['kubernetes']; readonly tell: Tell };

/** The images that a family implied, which v1 wants to be named. */
function imagesOf(spec: Raw, { version, tell }: Images): Raw {
  const family = textOf(spec['amiFamily']);
  const terms = spec['amiSelectorTerms'];
  const selected = Array.isArray(terms) && terms.length > 0;
  if (family !== 'Ubuntu') {
    if (selected || family === 'Custom' || family === '') return {};
    const alias = `${family.toLowerCase()}@latest`;
    tell('spec.amiSelectorTerms', `alias ${alias}: v1 wants the images of a family to be named`);
    if (family === 'AL2') tellNoAl2Images('spec.amiFamily', version, tell);
    return { amiSelectorTerms: [{ alias }] };
  }
  tell('spec.amiFamily', 'AL2, whose nodes boot alike: v1 has no family Ubuntu');
  const mappings = spec['blockDeviceMappings'];
  const disks = Array.isArray(mappings) && mappings.length > 0;
  if (!disks) tell('spec.blockDeviceMappings', 'the root of Ubuntu is written out');
  if (!selected) tell('spec.amiSelectorTerms', "Canonical's images, which the family meant");
  return {
    amiFamily: 'AL2',
    ...(selected ? {} : { amiSelectorTerms: ubuntuTerms(version) }),
    ...(disks ? {} : { blockDeviceMappings: [ubuntuRoot] }),
  };
}

/** The EC2NodeClass of v1 for one of v1beta1. */
export function classOfBeta(object: Raw, cluster: Cluster, tell: Tell): Raw {
  const spec = readRecord(object['spec'], 'spec');
  tell('apiVersion', 'karpenter.k8s.aws/v1');
  return {
    ...object,
    apiVersion: 'karpenter.k8s.aws/v1',
    spec: {
      ...spec,
      ...imagesOf(spec, { version: cluster.kubernetes, tell }),
      ...identityOf(spec, 'spec', cluster, tell),
      metadataOptions: metadataOptionsOf(spec['metadataOptions'], 'spec.metadataOptions', tell),
    },
  };
}

/**
 * The NodeClaim of v1 for one of v1beta1. Its age limit stood in its pool, which may be among the
 * objects.
 */
export function claimOfBeta(object: Raw, expireAfter: unknown, tell: Tell): Raw {
  const spec = readRecord(object['spec'], 'spec');
  tell('apiVersion', 'karpenter.sh/v1');
  if (isPresent(spec['kubelet']))
    tell('spec.kubelet', 'left out: the node has its settings, and new ones come from the class');
  tell(
    'spec.expireAfter',
    isPresent(expireAfter)
      ? `${String(expireAfter)}, which stood in the pool`
      : 'absent, so 720h by the schema: give the pool beside it, whose limit held so far',
  );
  return {
    ...object,
    apiVersion: 'karpenter.sh/v1',
    spec: {
      ...without(spec, 'kubelet'),
      nodeClassRef: classRefOf(spec['nodeClassRef'], 'spec.nodeClassRef', tell),
      ...(isPresent(expireAfter) ? { expireAfter } : {}),
    },
  };
}
