import { type Condition, operatorNames, operatorOf } from './conditions.js';

/**
 * The place of a policy: at an identity, at a resource such as a queue, or at a role as its trust
 * policy. The last two name principals, and a trust policy names no resource.
 */
export type PolicyKind = 'identity' | 'resource' | 'trust';

/** One statement of a policy. */
export type Statement = {
  readonly sid: string;
  readonly effect: 'Allow' | 'Deny';
  /** `Service:events.amazonaws.com`, or `*` for everyone. An identity-based policy has none. */
  readonly principals: readonly string[];
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  /** All of them must hold. */
  readonly conditions: readonly Condition[];
};

/** A policy: its statements in order. */
export type Policy = readonly Statement[];

/** A policy that the evaluator cannot read exactly. It refuses the policy instead of guessing. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
}

type Json = Readonly<Record<string, unknown>>;

/** The keys of a request's context that the twin can give. A key with `/` stands for all tags. */
const knownKeys = [
  'aws:RequestedRegion',
  'aws:RequestTag/',
  'aws:ResourceTag/',
  'ec2:ResourceTag/',
  'iam:ResourceTag/',
  'aws:TagKeys',
  'ec2:CreateAction',
  'iam:PassedToService',
];

/** Further keys of requests that another service makes, or that come with an OIDC token. */
const keysOfKind: Readonly<Record<PolicyKind, readonly string[]>> = {
  identity: [],
  resource: ['aws:SecureTransport', 'aws:SourceAccount', 'aws:SourceArn'],
  trust: ['<provider>:aud', '<provider>:sub'],
};

/** A claim of a token, under the address of the provider that signed it. */
const claimKey = /^[\w-]+(\.[\w-]+)+(\/[\w-]+)*:(aud|sub)$/;

const isKnownKey = (key: string, kind: PolicyKind): boolean =>
  (kind === 'trust' && claimKey.test(key)) ||
  [...knownKeys, ...keysOfKind[kind]].some((known) =>
    known.endsWith('/')
      ? key.toLowerCase().startsWith(known.toLowerCase()) && key.length > known.length
      : key.toLowerCase() === known.toLowerCase(),
  );

function objectAt(value: unknown, field: string): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new PolicyError(`${field} is ${JSON.stringify(value)}; give an object`);
  return value as Json;
}

/** One text or a list of texts. IAM takes booleans as values too. */
function textsAt(value: unknown, field: string): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.map((one) => {
    if (typeof one !== 'string' && typeof one !== 'boolean')
      throw new PolicyError(`${field} is ${JSON.stringify(one)}; give a string`);
    const text = String(one);
    if (text.includes('${'))
      throw new PolicyError(
        `${field} is ${JSON.stringify(text)}; fill in its placeholders, because policy variables are not evaluated here`,
      );
    return text;
  });
}

function refuseOthers(value: Json, allowed: readonly string[], field: string): void {
  const other = Object.keys(value).find((name) => !allowed.includes(name));
  if (other !== undefined)
    throw new PolicyError(
      `${field} has ${other}, which is not evaluated here; use ${allowed.join(', ')}`,
    );
}

function conditionsOf(value: unknown, field: string, kind: PolicyKind): readonly Condition[] {
  if (value === undefined) return [];
  return Object.entries(objectAt(value, field)).flatMap(([name, keys]) => {
    const operator = operatorOf(name);
    if (operator === undefined)
      throw new PolicyError(
        `${field} has the operator ${name}, which is not evaluated here; use one of ${operatorNames.join(', ')}`,
      );
    return Object.entries(objectAt(keys, `${field}.${name}`)).map(([key, values]) => {
      const at = `${field}.${name}.${key}`;
      textsAt(key, at);
      if (!isKnownKey(key, kind))
        throw new PolicyError(
          `${at}: the twin's requests have no such key; use one of ${[...knownKeys, ...keysOfKind[kind]].join(', ')}`,
        );
      return { ...operator, key: key.toLowerCase(), values: textsAt(values, at) };
    });
  });
}

const elementsOf: Readonly<Record<PolicyKind, readonly string[]>> = {
  identity: ['Sid', 'Effect', 'Action', 'Resource', 'Condition'],
  resource: ['Sid', 'Effect', 'Principal', 'Action', 'Resource', 'Condition'],
  trust: ['Sid', 'Effect', 'Principal', 'Action', 'Condition'],
};

function principalsOf(value: unknown, field: string): readonly string[] {
  if (value === '*') return ['*'];
  return Object.entries(objectAt(value, field)).flatMap(([type, names]) =>
    textsAt(names, `${field}.${type}`).map((name) => `${type}:${name}`),
  );
}

function statementOf(value: unknown, index: number, kind: PolicyKind): Statement {
  const found = objectAt(value, `Statement[${index}]`);
  const sid = typeof found['Sid'] === 'string' ? found['Sid'] : `Statement[${index}]`;
  refuseOthers(found, elementsOf[kind], sid);
  const effect = found['Effect'];
  if (effect !== 'Allow' && effect !== 'Deny')
    throw new PolicyError(`${sid}.Effect is ${JSON.stringify(effect)}; use Allow or Deny`);
  const actions = textsAt(found['Action'], `${sid}.Action`);
  const odd = actions.find((action) => action !== '*' && !/^[a-z0-9-]+:[\w*?]+$/i.test(action));
  if (odd !== undefined)
    throw new PolicyError(`${sid}.Action is ${JSON.stringify(odd)}; give service:Operation or *`);
  return {
    sid,
    effect,
    principals: kind === 'identity' ? [] : principalsOf(found['Principal'], `${sid}.Principal`),
    actions,
    resources: kind === 'trust' ? ['*'] : textsAt(found['Resource'], `${sid}.Resource`),
    conditions: conditionsOf(found['Condition'], `${sid}.Condition`, kind),
  };
}

/**
 * Reads a policy document. Throws PolicyError for every element, operator, condition key and
 * variable that the evaluator does not know.
 */
export function parsePolicy(text: string, kind: PolicyKind = 'identity'): Policy {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new PolicyError('the policy is not JSON', { cause });
  }
  const found = objectAt(document, 'the policy');
  refuseOthers(found, ['Version', 'Id', 'Statement'], 'the policy');
  if (found['Version'] !== '2012-10-17')
    throw new PolicyError(`Version is ${JSON.stringify(found['Version'])}; use 2012-10-17`);
  const statements = found['Statement'];
  return (Array.isArray(statements) ? statements : [statements]).map((statement, index) =>
    statementOf(statement, index, kind),
  );
}
