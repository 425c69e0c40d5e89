import { holds, type RequestContext } from './conditions.js';
import { matches } from './pattern.js';
import type { Policy, Statement } from './policy.js';

/**
 * One question to IAM: an action on one resource. A call of AWS asks one for each resource that it
 * touches, and each must be allowed.
 */
export type AccessRequest = {
  /** `ec2:RunInstances` */
  readonly action: string;
  /** An ARN, or `*` for actions that know no resources. */
  readonly resource: string;
  /** Who asks, for policies that name principals: `Service:events.amazonaws.com`. */
  readonly principal?: string;
  readonly context: RequestContext;
};

/** IAM's decision about one action, with the statement that made it. */
export type Decision =
  | { readonly kind: 'allow'; readonly sid: string }
  | { readonly kind: 'explicit-deny'; readonly sid: string }
  | { readonly kind: 'implicit-deny' };

/** The facts of a request that conditions can ask for. */
export type RequestFacts = {
  readonly region: string;
  /** Tags that the request gives this resource. */
  readonly requestTags?: Readonly<Record<string, string>>;
  /** Tags that the resource has already. */
  readonly resourceTags?: Readonly<Record<string, string>>;
  /** The operation that makes what `ec2:CreateTags` tags. */
  readonly createAction?: string;
  /** The service that a role is passed to. */
  readonly passedTo?: string;
  /** Further keys with their value, such as `aws:SourceArn` of a service that acts for another. */
  readonly others?: Readonly<Record<string, string>>;
};

/** The context of a request, under the keys that IAM gives its facts. */
export function contextOf(facts: RequestFacts): RequestContext {
  const { requestTags = {}, resourceTags = {}, createAction, passedTo, others = {} } = facts;
  const entries: [string, readonly string[]][] = [['aws:requestedregion', [facts.region]]];
  for (const [key, value] of Object.entries(requestTags))
    entries.push([`aws:requesttag/${key.toLowerCase()}`, [value]]);
  for (const service of ['aws', 'ec2', 'iam'])
    for (const [key, value] of Object.entries(resourceTags))
      entries.push([`${service}:resourcetag/${key.toLowerCase()}`, [value]]);
  if (Object.keys(requestTags).length > 0) entries.push(['aws:tagkeys', Object.keys(requestTags)]);
  if (createAction !== undefined) entries.push(['ec2:createaction', [createAction]]);
  if (passedTo !== undefined) entries.push(['iam:passedtoservice', [passedTo]]);
  for (const [key, value] of Object.entries(others)) entries.push([key.toLowerCase(), [value]]);
  return new Map(entries);
}

const isAskedBy = ({ principals }: Statement, principal: string | undefined): boolean =>
  principals.length === 0 || principals.some((named) => named === '*' || named === principal);

const applies = (statement: Statement, request: AccessRequest): boolean =>
  statement.actions.some((action) => matches(action.toLowerCase(), request.action.toLowerCase())) &&
  statement.resources.some((resource) => matches(resource, request.resource)) &&
  isAskedBy(statement, request.principal) &&
  statement.conditions.every((condition) => holds(condition, request.context));

/**
 * Decides as IAM does for the policies of one identity, resource or role: a Deny that applies wins,
 * then an Allow that applies, and without either the request is denied.
 */
export function decide(policies: readonly Policy[], request: AccessRequest): Decision {
  const found = policies.flat().filter((statement) => applies(statement, request));
  const denial = found.find(({ effect }) => effect === 'Deny');
  if (denial !== undefined) return { kind: 'explicit-deny', sid: denial.sid };
  const allowance = found[0];
  return allowance === undefined
    ? { kind: 'implicit-deny' }
    : { kind: 'allow', sid: allowance.sid };
}
