import { AwsFault, invalidValue } from '../foundation/aws-fault.js';
import type { Params } from './params.js';

/**
 * How an operation pages: the smallest and largest page, and the page without MaxResults
 * (`undefined`: everything).
 */
export type PageRule = { readonly min: number; readonly max: number; readonly default?: number };

/** The token of the page that begins there. */
export const tokenOf = (from: number): string => Buffer.from(`from:${from}`).toString('base64url');

/** Where the page that a token names begins. */
export function offsetOf(token: string | undefined): number {
  if (token === undefined) return 0;
  const match = /^from:(\d+)$/.exec(Buffer.from(token, 'base64url').toString('utf8'));
  if (match === null) throw new AwsFault('InvalidNextToken', `The token '${token}' is invalid.`);
  return Number(match[1]);
}

/** A page of things that stand in a fixed order, and the token of the next page. */
export function slice<T>(
  things: readonly T[],
  from: number,
  size: number,
): { readonly page: readonly T[]; readonly nextToken?: string } {
  const until = from + size;
  return {
    page: things.slice(from, until),
    ...(until < things.length ? { nextToken: tokenOf(until) } : {}),
  };
}

/** The size of the page that an EC2 request asks for. Throws AwsFault below the rule's smallest. */
export function pageSize(params: Params, rule: PageRule): number {
  const wanted = params.integer('MaxResults');
  if (wanted !== undefined && wanted < rule.min)
    throw invalidValue(
      'maxResults',
      String(wanted),
      `Expecting a value between ${rule.min} and ${rule.max}.`,
    );
  return Math.min(wanted ?? rule.default ?? Number.MAX_SAFE_INTEGER, rule.max);
}

/** The page that an EC2 request asks for. */
export function pageOf<T>(
  things: readonly T[],
  params: Params,
  rule: PageRule,
): { readonly page: readonly T[]; readonly nextToken?: string } {
  const size = pageSize(params, rule);
  return slice(things, offsetOf(params.text('NextToken')), size);
}
