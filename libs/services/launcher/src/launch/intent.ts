import { annotations, tags, type NodeClaim } from '@dovetail/core-api';
import { canonicalJson, type FleetRequest } from '@dovetail/core-ec2-model';

/** A fleet request without what is derived from the intent: its token, and the tag by which instances are found again. */
export type IntentRequest = Omit<FleetRequest, 'clientToken'>;

/**
 * What is about to be bought, written on every claim that it is for before anything is bought. Its id is the hash of the rest: the
 * same intent is the same token, and EC2 answers a repeated token with the first outcome instead of buying again.
 */
export type LaunchIntent = {
  readonly id: string;
  /** 1 for the first; a new attempt is a new intent. */
  readonly attempt: number;
  readonly createdMs: number;
  /** Names of the claims, sorted. One instance each is asked for. */
  readonly members: readonly string[];
  readonly request: IntentRequest;
};

type Compact = readonly [type: string, subnet: string, zone: string, priority?: number];

const contentOf = (intent: Omit<LaunchIntent, 'id'>): string => canonicalJson({
  attempt: intent.attempt, createdMs: intent.createdMs, members: intent.members,
  request: {
    ...intent.request,
    configs: intent.request.configs.map(({ launchTemplateName, overrides }) => ({
      launchTemplateName,
      overrides: overrides.map((each): Compact => (each.priority === undefined ? [each.instanceType, each.subnetId, each.zone] : [each.instanceType, each.subnetId, each.zone, each.priority])),
    })),
  },
});

/** The intent of this content. Members are put in order. */
export function intentOf(content: Omit<LaunchIntent, 'id'>, sha256Hex: (text: string) => string): LaunchIntent {
  const ordered = { ...content, members: [...content.members].sort() };
  return { id: sha256Hex(contentOf(ordered)), ...ordered };
}

/** The annotation's text. */
export const renderIntent = (intent: LaunchIntent): string => `${intent.id} ${contentOf(intent)}`;

/** The id alone, without reading the rest. */
export const intentIdOf = (claim: NodeClaim): string | undefined => claim.annotations[annotations.launchIntent]?.split(' ', 1)[0];

/** What a claim carries; undefined when it carries none, or one that was changed since: its id is the hash of what it says. */
export function parseIntent(text: string | undefined, sha256Hex: (text: string) => string): LaunchIntent | undefined {
  const space = (text ?? '').indexOf(' ');
  if (text === undefined || space < 0) return undefined;
  const [id, content] = [text.slice(0, space), text.slice(space + 1)];
  if (sha256Hex(content) !== id) return undefined;
  // The hash says that the text is what an intent was rendered to: its shape needs no second proof.
  const value = JSON.parse(content) as Omit<LaunchIntent, 'id' | 'request'> & { readonly request: Omit<IntentRequest, 'configs'> & { readonly configs: readonly { readonly launchTemplateName: string; readonly overrides: readonly Compact[] }[] } };
  const configs = value.request.configs.map(({ launchTemplateName, overrides }) => ({
    launchTemplateName,
    overrides: overrides.map(([instanceType, subnetId, zone, priority]) => ({ instanceType, subnetId, zone, ...(priority === undefined ? {} : { priority }) })),
  }));
  return { id, ...value, request: { ...value.request, configs } };
}

/** The request as it is sent: the same bytes for the same intent, however often. */
export const fleetRequestOf = (intent: LaunchIntent): FleetRequest =>
  ({ ...intent.request, clientToken: intent.id, count: intent.members.length, tags: { ...intent.request.tags, [tags.launchIntent]: intent.id } });

export const instanceIdOf = (claim: NodeClaim): string | undefined =>
  claim.annotations[annotations.instanceId] ?? (claim.providerId === undefined ? undefined : claim.providerId.split('/').at(-1));

/** A claim that has no instance yet. */
export const isUnpaired = (claim: NodeClaim): boolean => instanceIdOf(claim) === undefined;

/** An intent and the claims that carry it now, unpaired ones or not. */
export type CarriedIntent = { readonly intent: LaunchIntent; readonly carriers: readonly NodeClaim[]; readonly inForce: boolean };

/**
 * Whether an intent may have been sent: only once every member carries it. A member that is gone has had its finalizer dropped, which is
 * done only for claims whose intent was never in force or has been settled; so an intent with a missing member is not in force either.
 */
export function carriedIntent(intent: LaunchIntent, claimByName: (name: string) => NodeClaim | undefined): CarriedIntent {
  const carriers = intent.members.flatMap((name) => claimByName(name) ?? []).filter((claim) => intentIdOf(claim) === intent.id);
  return { intent, carriers, inForce: carriers.length === intent.members.length };
}
