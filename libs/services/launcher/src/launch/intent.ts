import { annotations, type NodeClaim, tags } from '@dovetail/core-api';
import type { Cluster } from '@dovetail/core-cluster';
import { canonicalJson, type FleetRequest } from '@dovetail/core-ec2-model';

/** A fleet request without its ClientToken, which is derived from the intent. */
export type IntentRequest = Omit<FleetRequest, 'clientToken'>;

/**
 * The purchase that is about to be made. It is written on each of its claims before its request is
 * sent.
 *
 * Invariant: the id is the SHA-256 of the rest, in hex. The same intent is the same ClientToken,
 * and EC2 answers a repeated token with the first outcome instead of buying again.
 */
export type LaunchIntent = {
  readonly id: string;
  /** 1 for the first; a new attempt is a new intent. */
  readonly attempt: number;
  readonly createdMs: number;
  /** Names of the claims. Invariant: sorted, each once; one instance is requested for each. */
  readonly members: readonly string[];
  readonly request: IntentRequest;
};

/** An override as a row: the annotation of a wide intent would otherwise pass 100 kB. */
type Compact = readonly [type: string, subnet: string, zone: string];

const contentOf = (intent: Omit<LaunchIntent, 'id'>): string =>
  canonicalJson({
    attempt: intent.attempt,
    createdMs: intent.createdMs,
    members: intent.members,
    request: {
      ...intent.request,
      configs: intent.request.configs.map(({ launchTemplateName, overrides }) => ({
        launchTemplateName,
        overrides: overrides.map(({ instanceType, subnetId, zone }): Compact => [
          instanceType,
          subnetId,
          zone,
        ]),
      })),
    },
  });

/** The intent of this content, with its members in order. */
export function intentOf(
  content: Omit<LaunchIntent, 'id'>,
  sha256Hex: (text: string) => string,
): LaunchIntent {
  const ordered = { ...content, members: [...content.members].sort() };
  return { id: sha256Hex(contentOf(ordered)), ...ordered };
}

/** The intent as the text of its annotation: `id content`. */
export const renderIntent = (intent: LaunchIntent): string => `${intent.id} ${contentOf(intent)}`;

/** The id of the intent that the claim carries, without reading the rest. */
export const intentIdOf = (claim: NodeClaim): string | undefined =>
  claim.annotations[annotations.launchIntent]?.split(' ', 1)[0];

/** The ids of the intents that claims carry. */
export const carriedIds = (cluster: Cluster): readonly string[] =>
  [...cluster.claims.values()].flatMap((claim) => intentIdOf(claim) ?? []);

/**
 * The intent in an annotation's text; undefined when absent, or when the text does not hash to its
 * id.
 */
export function parseIntent(
  text: string | undefined,
  sha256Hex: (text: string) => string,
): LaunchIntent | undefined {
  const space = (text ?? '').indexOf(' ');
  if (text === undefined || space < 0) return undefined;
  const [id, content] = [text.slice(0, space), text.slice(space + 1)];
  if (sha256Hex(content) !== id) return undefined;
  // The hash proves that an intent was rendered to this text, so its shape needs no second proof.
  const value = JSON.parse(content) as Omit<LaunchIntent, 'id' | 'request'> & {
    readonly request: Omit<IntentRequest, 'configs'> & {
      readonly configs: readonly {
        readonly launchTemplateName: string;
        readonly overrides: readonly Compact[];
      }[];
    };
  };
  const configs = value.request.configs.map(({ launchTemplateName, overrides }) => ({
    launchTemplateName,
    overrides: overrides.map(([instanceType, subnetId, zone]) => ({
      instanceType,
      subnetId,
      zone,
    })),
  }));
  return { id, ...value, request: { ...value.request, configs } };
}

/**
 * The request as it is sent: the same bytes for the same intent, and a tag that finds its
 * instances.
 */
export const fleetRequestOf = (intent: LaunchIntent): FleetRequest => ({
  ...intent.request,
  clientToken: intent.id,
  count: intent.members.length,
  tags: { ...intent.request.tags, [tags.launchIntent]: intent.id },
});

/** An intent and the claims that carry it now, unpaired ones or not. */
export type CarriedIntent<I> = {
  readonly intent: I;
  readonly carriers: readonly NodeClaim[];
  readonly inForce: boolean;
};

/**
 * Whether an intent may have been sent, which is so once every member carries it. A member that is
 * gone lost its finalizer, which happens only when its intent was never in force or has been
 * settled. So an intent with a missing member is not in force.
 */
export function carriedIntent<I extends Pick<LaunchIntent, 'id' | 'members'>>(
  intent: I,
  claimByName: (name: string) => NodeClaim | undefined,
): CarriedIntent<I> {
  const carriers = intent.members
    .flatMap((name) => claimByName(name) ?? [])
    .filter((claim) => intentIdOf(claim) === intent.id);
  return { intent, carriers, inForce: carriers.length === intent.members.length };
}
