import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';

import { badRequest } from '../model/errors.js';
import { microTimeText, timeText } from '../model/objects.js';
import { builtinProtobufJson } from './builtin-protobuf.js';

type Field = readonly [name: string, type: string, shape?: 'list' | 'map'];
type MessageShapes = {
  readonly roots: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, Readonly<Record<string, Field>>>>;
};

let parsed: MessageShapes | undefined;
const shapes = (): MessageShapes => (parsed ??= JSON.parse(builtinProtobufJson) as MessageShapes);

/** Reads protobuf's wire format. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || shift > 63n)
        throw badRequest('the protobuf body ends within a number');
      this.#at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }

  bytes(): Buffer {
    const length = Number(this.varint());
    if (length < 0 || this.#at + length > this.#bytes.length)
      throw badRequest('the protobuf body ends within a field');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  fixed(length: 4 | 8): number {
    if (this.#at + length > this.#bytes.length)
      throw badRequest('the protobuf body ends within a number');
    this.#at += length;
    return length === 8
      ? this.#bytes.readDoubleLE(this.#at - 8)
      : this.#bytes.readFloatLE(this.#at - 4);
  }

  /** One field's number and raw value: a varint, bytes, or a floating number. */
  field(): { readonly number: number; readonly value: bigint | Buffer | number } {
    const tag = Number(this.varint());
    const number = tag >> 3;
    switch (tag & 7) {
      case 0:
        return { number, value: this.varint() };
      case 1:
        return { number, value: this.fixed(8) };
      case 2:
        return { number, value: this.bytes() };
      case 5:
        return { number, value: this.fixed(4) };
      default:
        throw badRequest(`the protobuf body has a field of an unknown wire type ${tag & 7}`);
    }
  }
}

function fieldsOf(bytes: Buffer): ReadonlyMap<number, readonly (bigint | Buffer | number)[]> {
  const fields = new Map<number, (bigint | Buffer | number)[]>();
  for (const reader = new Reader(bytes); !reader.done;) {
    const { number, value } = reader.field();
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const numberAt = (fields: ReadonlyMap<number, readonly unknown[]>, field: number): number =>
  Number((fields.get(field)?.at(-1) as bigint | undefined) ?? 0n);
const textAt = (fields: ReadonlyMap<number, readonly unknown[]>, field: number): string =>
  (fields.get(field)?.at(-1) as Buffer | undefined)?.toString('utf8') ?? '';

/** The types whose JSON is not an object of their fields. */
const special: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  'api.resource.Quantity': (bytes) => textAt(fieldsOf(bytes), 1),
  'util.intstr.IntOrString': (bytes) => {
    const fields = fieldsOf(bytes);
    return numberAt(fields, 1) === 0 ? numberAt(fields, 2) : textAt(fields, 3);
  },
  'meta.v1.Time': (bytes) => timeOf(bytes, timeText),
  'meta.v1.MicroTime': (bytes) => timeOf(bytes, microTimeText),
  'meta.v1.FieldsV1': (bytes) => JSON.parse(textAt(fieldsOf(bytes), 1) || '{}') as unknown,
  'runtime.RawExtension': (bytes) => JSON.parse(textAt(fieldsOf(bytes), 1) || 'null') as unknown,
};

/** Go's zero time is years before the epoch and means none. */
function timeOf(bytes: Buffer, text: (ms: number) => string): string | undefined {
  const fields = fieldsOf(bytes);
  const seconds = numberAt(fields, 1);
  return seconds <= 0 ? undefined : text(seconds * 1000 + Math.floor(numberAt(fields, 2) / 1e6));
}

// Go writes zeroes of plain fields too; only of these does a zero say something.
const meaningfulZeroes = new Set([
  'replicas',
  'terminationGracePeriodSeconds',
  'gracePeriodSeconds',
  'completions',
  'parallelism',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'activeDeadlineSeconds',
  'tolerationSeconds',
  'revisionHistoryLimit',
  'automountServiceAccountToken',
  'runAsUser',
  'runAsGroup',
  'runAsNonRoot',
  'allowPrivilegeEscalation',
  'readOnlyRootFilesystem',
  'enableServiceLinks',
  'partition',
  'value',
  'exitCode',
  'ready',
]);
// These are written into the object that holds them.
const inlined = new Set([
  'volumeSource',
  'persistentVolumeSource',
  'handler',
  'localObjectReference',
  'ephemeralContainerCommon',
]);

function scalar(name: string, type: string, value: bigint | Buffer | number): unknown {
  switch (type) {
    case 'string': {
      const text = (value as Buffer).toString('utf8');
      return text === '' ? undefined : text;
    }
    case 'bytes':
      return (value as Buffer).toString('base64');
    case 'bool':
      return value === 1n ? true : meaningfulZeroes.has(name) ? false : undefined;
    case 'double':
    case 'float':
      return value;
    default:
      return value === 0n && !meaningfulZeroes.has(name) ? undefined : Number(value);
  }
}

const isScalar = (type: string): boolean =>
  /^(string|bytes|bool|double|float|u?int\d+)$/.test(type);

function single(name: string, type: string, value: bigint | Buffer | number): unknown {
  if (isScalar(type)) return scalar(name, type, value);
  return (
    lookUp(special, type)?.(value as Buffer) ??
    (lookUp(special, type) === undefined ? message(type, value as Buffer) : undefined)
  );
}

function mapOf(type: string, values: readonly unknown[]): object {
  return Object.fromEntries(
    values.map((entry) => {
      const fields = fieldsOf(entry as Buffer);
      const value = fields.get(2)?.at(-1) ?? Buffer.alloc(0);
      return [
        textAt(fields, 1),
        type === 'string' ? (value as Buffer).toString('utf8') : single('', type, value),
      ];
    }),
  );
}

function message(type: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  const shape = lookUp(shapes().messages, type) ?? {};
  const object: Record<string, unknown> = {};
  for (const [number, values] of fieldsOf(bytes)) {
    const field = shape[number];
    if (field === undefined) continue;
    const [name, inner, kind] = field;
    if (kind === 'map') put(object, name, mapOf(inner, values));
    else if (kind === 'list')
      put(
        object,
        name,
        inner === 'string'
          ? values.map((value) => (value as Buffer).toString('utf8'))
          : values.map((value) => single(name, inner, value) ?? {}),
      );
    else {
      const decoded = single(name, inner, values.at(-1) as bigint);
      if (inlined.has(name) && isRecord(decoded)) Object.assign(object, decoded);
      else if (decoded !== undefined) put(object, name, decoded);
    }
  }
  return object;
}

const magic = Buffer.from('k8s\0');

/**
 * Decodes a body of content type application/vnd.kubernetes.protobuf to JSON. Throws 400 when it
 * cannot be read.
 */
export function fromProtobuf(body: Buffer): object | undefined {
  if (body.length === 0) return undefined;
  if (!body.subarray(0, 4).equals(magic))
    throw badRequest('the protobuf body does not start with the four bytes "k8s\\0"');
  const envelope = fieldsOf(body.subarray(4));
  const meta = fieldsOf((envelope.get(1)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0));
  const [apiVersion, kind] = [textAt(meta, 1), textAt(meta, 2)];
  const type = lookUp(shapes().roots, `${apiVersion}/${kind}`) ?? lookUp(shapes().roots, kind);
  if (type === undefined)
    throw badRequest(
      `no kind "${kind}" is registered for version "${apiVersion}" in protobuf; send it as JSON`,
    );
  return {
    apiVersion,
    kind,
    ...message(type, (envelope.get(2)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0)),
  };
}
