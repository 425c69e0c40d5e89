import { isRecord } from '@dovetail/core-kube-model';
import { parse, type ScalarTag } from 'yaml';

/** A resource of a CloudFormation template, with its intrinsic functions evaluated. */
type StackResource = {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
};

/** A template as CloudFormation would make it: only what its conditions let in. */
export type Stack = {
  readonly resources: Readonly<Record<string, StackResource>>;
  readonly outputs: Readonly<Record<string, unknown>>;
};

/** Where and with which parameters a stack is made. A parameter without a value has its default. */
type StackOptions = {
  readonly region: string;
  readonly accountId: string;
  readonly parameters: Readonly<Record<string, string>>;
};

type Json = Readonly<Record<string, unknown>>;
type Declared = { readonly Type: string; readonly Condition?: string; readonly Properties?: Json };
type Template = {
  readonly Parameters: Readonly<Record<string, { readonly Default?: string }>>;
  readonly Conditions: Json;
  readonly Resources: Readonly<Record<string, Declared>>;
  readonly Outputs: Readonly<
    Record<string, { readonly Condition?: string; readonly Value: unknown }>
  >;
};

const noValue = Symbol('AWS::NoValue');

/** The property that names a resource of a type, where templates of this repository name one. */
const nameFields: Readonly<Record<string, string>> = {
  'AWS::IAM::Role': 'RoleName',
  'AWS::SQS::Queue': 'QueueName',
};

/** `!GetAtt a.b` and its like, as the long forms of them. */
const shortForms = ['Ref', 'Sub', 'GetAtt', 'If', 'Equals', 'Not', 'And', 'Or', 'Join'].flatMap(
  (name): readonly ScalarTag[] => {
    const long = name === 'Ref' ? 'Ref' : `Fn::${name}`;
    const scalar: ScalarTag = { tag: `!${name}`, resolve: (text) => ({ [long]: text }) };
    const list = {
      tag: `!${name}`,
      collection: 'seq',
      resolve: (items: { toJSON(): unknown }) => ({ [long]: items.toJSON() }),
    };
    return [scalar, list as unknown as ScalarTag];
  },
);

/** Evaluates the intrinsic functions of one template for one account. */
class Evaluation {
  readonly #template: Template;
  readonly #options: StackOptions;

  constructor(template: Template, options: StackOptions) {
    this.#template = template;
    this.#options = options;
  }

  isMade(condition: string | undefined): boolean {
    return condition === undefined || this.value(this.#template.Conditions[condition]) === true;
  }

  value(given: unknown): unknown {
    if (Array.isArray(given))
      return given.map((item) => this.value(item)).filter((item) => item !== noValue);
    if (!isRecord(given)) return given;
    const [[name, argument] = ['', undefined], ...others] = Object.entries(given);
    if (others.length === 0 && (name === 'Ref' || name.startsWith('Fn::')))
      return this.#call(name, argument);
    return Object.fromEntries(
      Object.entries(given)
        .map(([key, each]) => [key, this.value(each)] as const)
        .filter(([, each]) => each !== noValue),
    );
  }

  #call(name: string, argument: unknown): unknown {
    const [first, second, third] = Array.isArray(argument) ? (argument as unknown[]) : [argument];
    switch (name) {
      case 'Ref':
        return this.#reference(String(argument));
      case 'Fn::Sub':
        return String(argument).replaceAll(/\$\{([\w:.]+)\}/g, (_, path: string) =>
          String(path.includes('.') ? this.#attribute(path) : this.#reference(path)),
        );
      case 'Fn::GetAtt':
        return this.#attribute(Array.isArray(argument) ? argument.join('.') : String(argument));
      case 'Fn::If':
        return this.value(this.isMade(String(first)) ? second : third);
      case 'Fn::Equals':
        return this.value(first) === this.value(second);
      case 'Fn::Not':
        return this.value(first) !== true;
      default:
        throw new Error(`${name} is not evaluated here`);
    }
  }

  #reference(name: string): unknown {
    const { region, accountId, parameters } = this.#options;
    const pseudo: Readonly<Record<string, unknown>> = {
      'AWS::Region': region,
      'AWS::AccountId': accountId,
      'AWS::Partition': 'aws',
      'AWS::URLSuffix': 'amazonaws.com',
      'AWS::NoValue': noValue,
    };
    if (Object.hasOwn(pseudo, name)) return pseudo[name];
    const parameter = this.#template.Parameters[name];
    if (parameter === undefined) return this.#resource(name).name;
    const value = parameters[name] ?? parameter.Default;
    if (value === undefined) throw new Error(`the parameter ${name} has no value`);
    return value;
  }

  /** A resource by its name. One that the template does not name is called by its logical id. */
  #resource(id: string): { readonly name: string; readonly arn: string } {
    const declared = this.#template.Resources[id];
    if (declared === undefined) throw new Error(`the template has no resource ${id}`);
    if (!this.isMade(declared.Condition)) throw new Error(`${id} is not made, but referred to`);
    const { Type: type, Properties: properties = {} } = declared;
    const given = this.value(properties[nameFields[type] ?? '']);
    const name = typeof given === 'string' ? given : id;
    const { region, accountId } = this.#options;
    const arns: Readonly<Record<string, string>> = {
      'AWS::IAM::Role': `arn:aws:iam::${accountId}:role/${name}`,
      'AWS::SQS::Queue': `arn:aws:sqs:${region}:${accountId}:${name}`,
      'AWS::Events::Rule': `arn:aws:events:${region}:${accountId}:rule/${name}`,
    };
    return { name, arn: arns[type] ?? `arn:aws:unknown:${type}:${name}` };
  }

  #attribute(path: string): string {
    const [id = '', attribute = ''] = path.split('.');
    const { name, arn } = this.#resource(id);
    if (attribute === 'Arn') return arn;
    if (attribute === 'QueueName') return name;
    throw new Error(`${path}: the attribute is not evaluated here`);
  }
}

/** Evaluates a CloudFormation template, as far as this repository's template needs it. */
export function evaluatedStack(text: string, options: StackOptions): Stack {
  const template = parse(text, { customTags: shortForms }) as Template;
  const evaluation = new Evaluation(template, options);
  const made = <T extends { readonly Condition?: string }>(
    all: Readonly<Record<string, T>>,
  ): readonly (readonly [string, T])[] =>
    Object.entries(all).filter(([, { Condition }]) => evaluation.isMade(Condition));
  return {
    resources: Object.fromEntries(
      made(template.Resources).map(([id, { Type, Properties = {} }]) => [
        id,
        { type: Type, properties: evaluation.value(Properties) as Json },
      ]),
    ),
    outputs: Object.fromEntries(
      made(template.Outputs).map(([id, { Value }]) => [id, evaluation.value(Value)]),
    ),
  };
}

/** A policy of a stack as JSON text. Templates give policies as text or as objects. */
export function policyText(stack: Stack, resource: string, property: string): string {
  const value = stack.resources[resource]?.properties[property];
  if (value === undefined) throw new Error(`${resource}.${property} is not in the stack`);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
