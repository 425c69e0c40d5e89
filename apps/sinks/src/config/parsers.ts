import { readFileSync } from 'node:fs';

import { isSigningKey } from '@dovetail/adapter-sinks';
import { type DecisionKind, decisionKinds } from '@dovetail/contracts';
import { lookUp } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';
import { durationMs } from '@dovetail/runtime';

import type { Parse } from './fields.js';

/** Readers of single fields. Each throws Error with the remedy. */

const matching =
  (pattern: RegExp, remedy: string): Parse<string> =>
  (value) => {
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw new Error(remedy);
  };

/** The name of a sink is a part of its consumer's name on the bus. */
export const sinkName = matching(
  /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/,
  'give up to 40 small letters, digits and -, such as audit',
);

/** A region of AWS. */
export const region = matching(
  /^[a-z]{2,10}(-[a-z]{2,15}){1,3}-[0-9]{1,2}$/,
  'give the name of a region, such as us-west-2',
);

/** A bus of EventBridge, by AWS' rule for names and ARNs. */
export const eventBus = matching(
  /^[/.\-_A-Za-z0-9:]{1,1600}$/,
  'give the name or the ARN of a bus, such as default',
);

/** An address that is posted to. */
export const httpUrl: Parse<string> = (value) => {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (typeof value === 'string' && isHttp && url.username === '' && url.password === '')
    return value;
  throw new Error(
    'give an address with https:// or http://, without name and password; those go into headers',
  );
};

/** One of the choices. */
export const choice =
  <const T extends string>(...choices: readonly T[]): Parse<T> =>
  (value) => {
    const found = choices.find((each) => each === value);
    if (found !== undefined) return found;
    throw new Error(`give one of ${choices.join(', ')}`);
  };

/** A list without repetitions, with at least one element. */
const listOf =
  <T>(parse: Parse<T>): Parse<readonly T[]> =>
  (value) => {
    if (!Array.isArray(value) || value.length === 0)
      throw new Error('give a list with at least one element');
    return [...new Set(value.map((each: unknown) => parse(each)))];
  };

/** The kinds of decisions. */
export const kinds: Parse<readonly DecisionKind[]> = listOf(choice(...decisionKinds));

/** Reason codes. */
export const codes = listOf(
  matching(
    /^[a-z0-9][a-z0-9-]*$/,
    'give codes of docs/reference/reason-codes.md, such as capacity-error',
  ),
);

/** Names of pools. */
export const poolNames = listOf(
  matching(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'give names of pools, such as default'),
);

/** A duration from `least` to `most` in milliseconds. */
export const duration =
  (range: { readonly least: string; readonly most: string }): Parse<number> =>
  (value) => {
    const remedy = `give a duration from ${range.least} to ${range.most}`;
    if (typeof value !== 'string') throw new Error(remedy);
    const ms = durationMs(value);
    if (ms >= durationMs(range.least) && ms <= durationMs(range.most)) return ms;
    throw new Error(remedy);
  };

/**
 * A value that may be a secret: the text itself, `{file: path}` or `{env: NAME}`. Line breaks at
 * the end of a file do not count.
 */
export const secret =
  <T>(parse: Parse<T>): Parse<T> =>
  (value) => {
    const form = 'give the text itself, {file: PATH} or {env: NAME}';
    if (typeof value === 'string' || value === undefined) return parse(value);
    if (!isRecord(value) || Object.keys(value).length !== 1) throw new Error(form);
    const [[from, name] = []] = Object.entries(value);
    if (typeof name !== 'string') throw new Error(form);
    if (from === 'file') return valueFrom(`the file ${name}`, readFile(name), parse);
    if (from === 'env') return valueFrom(`the variable ${name}`, lookUp(process.env, name), parse);
    throw new Error(form);
  };

function valueFrom<T>(what: string, text: string | undefined, parse: Parse<T>): T {
  if (text === undefined) throw new Error(`give ${what}: it is not there, or cannot be read`);
  try {
    return parse(text);
  } catch (error) {
    // The value itself is a secret, so it is not told.
    throw new Error(`${messageOf(error)} (in ${what})`, { cause: error });
  }
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
  } catch {
    return undefined;
  }
}

/** A key of Standard Webhooks. */
export const signingKey: Parse<string> = (value) => {
  if (typeof value === 'string' && isSigningKey(value)) return value;
  throw new Error(
    'give whsec_ and base64 of at least 24 random bytes: echo "whsec_$(openssl rand -base64 32)"',
  );
};

/** Headers of requests, whose values may be secrets. */
export const headers: Parse<Readonly<Record<string, string>>> = (value) => {
  if (!isRecord(value)) throw new Error('give an object of names and values');
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [headerName(name), secret(headerText)(each)]),
  );
};

/** Headers that the sink itself sets. */
const ownHeaders = /^(ce-.*|webhook-.*|content-(type|length)|host|connection|transfer-encoding)$/i;

function headerName(name: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !ownHeaders.test(name)) return name;
  throw new Error(`give other headers than ${name}: it is none, or the sink sets it itself`);
}

const headerText = matching(/^[\x20-\x7e]+$/, 'give values of printable ASCII in one line');
