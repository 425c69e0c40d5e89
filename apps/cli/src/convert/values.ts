import { lookUp, put } from '@dovetail/core-invariant';
import { compareText, isRecord, recordOf } from '@dovetail/core-kube-model';
import { closest } from '@dovetail/core-scheduling';

import { karpenterValues, variableValues } from './karpenter-values.js';

/** Something to know about one value of the input, or about one that is missing. */
type Note = { readonly path: string; readonly text: string };

/** Values of Dovetail's chart, and what was not taken. */
export type Conversion = {
  readonly values: Readonly<Record<string, unknown>>;
  readonly notes: readonly Note[];
};

type Values = Record<string, unknown>;

const roleAnnotation = 'eks.amazonaws.com/role-arn';
/** The variables that Node.js and the AWS SDK read, as in the chart. */
const ofRuntime =
  /^(AWS_[A-Z0-9_]+|NODE_(OPTIONS|EXTRA_CA_CERTS|DEBUG|TLS_REJECT_UNAUTHORIZED|USE_ENV_PROXY|USE_SYSTEM_CA)|SSL_CERT_(FILE|DIR)|TZ|https?_proxy|all_proxy|no_proxy)$/i;

/**
 * Converts values of Karpenter's chart to those of Dovetail's. Values that are Karpenter's defaults
 * are left out. A value without a meaning here, or of no known name, gets a note.
 */
export function convertValues(input: Values, region: string | undefined): Conversion {
  const conversion = new Converting();
  conversion.read(input, '');
  return conversion.finished(region);
}

class Converting {
  readonly #values: Values = {};
  readonly #notes: Note[] = [];

  read(value: unknown, path: string): void {
    const rule = lookUp(karpenterValues, path);
    if (path === 'controller.env') this.#readEnv(value, path);
    else if (rule !== undefined) {
      if (isUsual(value, rule.usual)) return;
      if (rule.except !== undefined && value === rule.except.value)
        return this.#note(path, rule.except.note);
      for (const target of rule.to ?? []) this.#put(target, taken(target, value));
      if (rule.note !== undefined) this.#note(path, rule.note);
    } else if (isRecord(value))
      for (const [name, inner] of Object.entries(value))
        this.read(inner, path === '' ? name : `${path}.${name}`);
    else if (!isEmpty(value)) this.#note(path, unknown(path));
  }

  finished(region: string | undefined): Conversion {
    if (region !== undefined) this.#put('cluster.region', region);
    for (const [path, hint] of required)
      if (valueAt(this.#values, path) === undefined) this.#note(path, hint);
    this.#dropRole();
    this.#sharePorts();
    this.#put('nats.server.enabled', true);
    const notes = this.#notes.toSorted((one, other) => compareText(one.path, other.path));
    return { values: this.#values, notes };
  }

  /** A list of variables becomes a map. Those that nothing of Dovetail reads are told. */
  #readEnv(value: unknown, path: string): void {
    for (const item of Array.isArray(value) ? (value as unknown[]) : []) {
      if (!isRecord(item) || typeof item['name'] !== 'string') continue;
      const { name, value: text = '', valueFrom } = item;
      const read = lookUp(variableValues, name);
      if (name === 'AWS_REGION' && typeof text === 'string' && text !== '')
        this.#put('cluster.region', text);
      else if (read !== undefined) this.read(isRecord(valueFrom) ? { valueFrom } : text, read);
      else if (ofRuntime.test(name)) this.#putVariable(name, valueFrom ?? text);
      else
        this.#note(
          `${path} ${name}`,
          'settings are values of the chart; a variable for something else goes into common.extraEnv',
        );
    }
  }

  #putVariable(name: string, value: unknown): void {
    const common = (this.#values['common'] ??= {}) as Values;
    const variables = (common['env'] ??= {}) as Values;
    put(variables, name, isRecord(value) ? { valueFrom: value } : String(value));
  }

  /** Karpenter's role has other rights than launcher and reaper need. */
  #dropRole(): void {
    const services = this.#values['services'];
    let dropped = false;
    for (const block of Object.values(isRecord(services) ? services : {}) as Values[]) {
      const annotations = block['serviceAccountAnnotations'];
      if (!isRecord(annotations) || annotations[roleAnnotation] === undefined) continue;
      const { [roleAnnotation]: _role, ...others } = annotations;
      if (Object.keys(others).length > 0) block['serviceAccountAnnotations'] = others;
      else delete block['serviceAccountAnnotations'];
      dropped = true;
    }
    if (dropped)
      this.#note(
        `serviceAccount.annotations ${roleAnnotation}`,
        "Karpenter's role does not suffice: launcher and reaper have roles of their own (deploy/aws)",
      );
  }

  /** Services in the network of one host cannot share a port. */
  #sharePorts(): void {
    if (valueAt(this.#values, 'common.hostNetwork') !== true) return;
    const first = Number(valueAt(this.#values, 'common.port') ?? 8_080);
    ['podWatcher', 'solver', 'launcher', 'reaper'].forEach((service, index) =>
      this.#put(`services.${service}.port`, first + index),
    );
  }

  #put(path: string, value: unknown): void {
    const names = path.split('.');
    let block = this.#values;
    for (const name of names.slice(0, -1)) {
      const inner = recordOf(lookUp(block, name)) as Values;
      put(block, name, inner);
      block = inner;
    }
    put(block, names.at(-1) ?? '', value);
  }

  #note(path: string, text: string): void {
    this.#notes.push({ path, text });
  }
}

const required: readonly (readonly [string, string])[] = [
  ['cluster.name', 'the chart needs it, and the input does not name the cluster'],
  ['cluster.region', 'the chart needs it, and Karpenter finds the region by itself: give --region'],
];

/** Karpenter's chart writes this number as a text. Variables are texts here. */
function taken(target: string, value: unknown): unknown {
  if (target.endsWith('.reservedENIs')) return Number(value);
  return target.includes('.env.') && !isRecord(value) ? String(value) : value;
}

function unknown(path: string): string {
  const meant = closest(path, Object.keys(karpenterValues));
  return `Karpenter's chart has no such value${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

function valueAt(values: Values, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((block, name) => (isRecord(block) ? lookUp(block, name) : undefined), values);
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Whether a value is Karpenter's default. The order of fields and quotes do not count. */
const isUsual = (value: unknown, usual: unknown): boolean =>
  // An empty list takes the place of a default list. An empty map is merged with a default map.
  (isEmpty(value) && !(Array.isArray(value) && Array.isArray(usual))) ||
  sorted(value) === sorted(usual) ||
  `"${sorted(value)}"` === sorted(usual);

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_name, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => compareText(a, b)))
      : inner,
  );
