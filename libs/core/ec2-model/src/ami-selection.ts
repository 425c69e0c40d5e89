import { labels, type ResolvedAmi } from '@dovetail/core-api';
import type { RequirementSpec } from '@dovetail/core-kube-model';
import { compareText } from '@dovetail/core-kube-model';

import type { AmiQuery } from './ami-queries.js';
import { allVariants, type AmiVariant } from './ami-variant.js';
import type { Image } from './cloud-values.js';
import type { InstanceTypeFacts } from './facts.js';
import { instanceLabels } from './labels.js';

/** A query and the images that it found. */
export type AmiAnswer = { readonly query: AmiQuery; readonly images: readonly Image[] };

type Candidate = { readonly image: Image; readonly variant: AmiVariant };

/**
 * Chooses the images of a class: the best for each architecture and variant, newest first. Images
 * that are not deprecated win, then newer ones, then greater names and ids (Karpenter's order, made
 * total).
 */
export function chooseAmis(answers: readonly AmiAnswer[]): readonly ResolvedAmi[] {
  const best = new Map<string, Candidate>();
  for (const candidate of answers.flatMap(candidatesOf)) {
    const key = `${candidate.image.arch} ${candidate.variant}`;
    const rival = best.get(key);
    if (rival === undefined || betterFirst(candidate, rival) < 0) best.set(key, candidate);
  }
  return [...best.values()]
    .sort(newestFirst)
    .map(({ image, variant }) => ({
      id: image.id,
      name: image.name,
      deprecated: image.deprecated,
      arch: image.arch,
      variant,
    }));
}

function candidatesOf({ query, images }: AmiAnswer): readonly Candidate[] {
  if (query.kind === 'images')
    return images.flatMap((image) => allVariants.map((variant) => ({ image, variant })));
  const fitting = images.filter((image) => query.arch === undefined || image.arch === query.arch);
  return fitting.flatMap((image) => query.variants.map((variant) => ({ image, variant })));
}

const newestFirst = (a: Candidate, b: Candidate): number =>
  b.image.createdMs - a.image.createdMs ||
  compareText(b.image.name, a.image.name) ||
  compareText(b.image.id, a.image.id) ||
  compareText(a.variant, b.variant);
const betterFirst = (a: Candidate, b: Candidate): number =>
  Number(a.image.deprecated) - Number(b.image.deprecated) || newestFirst(a, b);

/**
 * The drivers that a type needs. The rule is that of its labels, so facts and labels name the same
 * image.
 */
export const variantFor = (facts: Pick<InstanceTypeFacts, 'gpus' | 'accelerators'>): AmiVariant =>
  facts.gpus.length === 1 ? 'nvidia' : facts.accelerators.length === 1 ? 'neuron' : 'standard';

/**
 * The first image that serves the type's architecture and devices. Undefined when there is none.
 */
export function amiFor(
  amis: readonly ResolvedAmi[],
  facts: Pick<InstanceTypeFacts, 'arch' | 'gpus' | 'accelerators'>,
): ResolvedAmi | undefined {
  const variant = variantFor(facts);
  return amis.find((ami) => ami.arch === facts.arch && ami.variant === variant);
}

/** An image in a class' status, in the form of Karpenter's EC2NodeClass. */
export type AmiStatusEntry = {
  readonly id: string;
  readonly name: string;
  readonly deprecated?: true;
  readonly requirements: readonly RequirementSpec[];
};

/** Writes images as status entries, in order. An image that serves every variant has one entry. */
export function amiStatusOf(amis: readonly ResolvedAmi[]): readonly AmiStatusEntry[] {
  const universal = new Set(
    amis
      .filter((ami) =>
        allVariants.every((variant) =>
          amis.some((other) => other.id === ami.id && other.variant === variant),
        ),
      )
      .map((ami) => ami.id),
  );
  const listed = amis.filter(
    (ami, index) =>
      !universal.has(ami.id) || amis.findIndex((other) => other.id === ami.id) === index,
  );
  return listed.map((ami) => ({
    id: ami.id,
    name: ami.name,
    ...(ami.deprecated ? { deprecated: true as const } : {}),
    requirements: [
      { key: labels.arch, operator: 'In', values: [ami.arch] },
      ...(universal.has(ami.id) ? [] : variantRequirements(ami.variant)),
    ],
  }));
}

function variantRequirements(variant: AmiVariant): readonly RequirementSpec[] {
  const device = (key: string, operator: 'Exists' | 'DoesNotExist'): RequirementSpec => ({
    key,
    operator,
    values: [],
  });
  switch (variant) {
    case 'standard':
      return [
        device(instanceLabels.gpuCount, 'DoesNotExist'),
        device(instanceLabels.acceleratorCount, 'DoesNotExist'),
      ];
    case 'nvidia':
      return [device(instanceLabels.gpuCount, 'Exists')];
    case 'neuron':
      return [device(instanceLabels.acceleratorCount, 'Exists')];
  }
}
