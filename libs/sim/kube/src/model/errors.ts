/**
 * The error of one field, as in Status.details.causes. `message` does not repeat the field's path.
 */
export type FieldError = {
  readonly type: FieldErrorType;
  readonly field: string;
  readonly message: string;
};
type FieldErrorType =
  | 'FieldValueInvalid'
  | 'FieldValueRequired'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueDuplicate'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'FieldValueNotFound';

/** The details of a Status: the object that an error is about, and its causes. */
export type StatusDetails = {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly {
    readonly reason?: string;
    readonly message: string;
    readonly field?: string;
  }[];
  readonly retryAfterSeconds?: number;
};

/**
 * A failed request as the API server answers it: the HTTP code, reason, message and details of a
 * Status object.
 */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  constructor(
    failure: {
      readonly code: number;
      readonly reason: string;
      readonly message: string;
      readonly details?: StatusDetails;
    },
    options?: ErrorOptions,
  ) {
    super(failure.message, options);
    this.code = failure.code;
    this.reason = failure.reason;
    this.details = failure.details;
  }

  /** The Status object that goes over the wire. */
  toStatus(): object {
    const details = this.details === undefined ? {} : { details: this.details };
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...details,
      code: this.code,
    };
  }
}

/** The resource that an error names in its message and details. */
export type Subject = { readonly group: string; readonly plural: string; readonly kind: string };

const qualified = (name: string, group: string): string =>
  group === '' ? name : `${name}.${group}`;
const detailsOf = (subject: Subject, name: string): StatusDetails => ({
  name,
  ...(subject.group === '' ? {} : { group: subject.group }),
  kind: subject.plural,
});

/** 404: no object has the name. */
export const notFound = (subject: Subject, name: string): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `${qualified(subject.plural, subject.group)} "${name}" not found`,
    details: detailsOf(subject, name),
  });

/** 409: an object of the name is there already. */
export const alreadyExists = (subject: Subject, name: string): StatusError =>
  new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${qualified(subject.plural, subject.group)} "${name}" already exists`,
    details: detailsOf(subject, name),
  });

/** 409: the object changed since it was read, or a precondition fails. */
export const conflict = (subject: Subject, name: string, why: string): StatusError =>
  new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${qualified(subject.plural, subject.group)} "${name}": ${why}`,
    details: detailsOf(subject, name),
  });

/** Kubernetes' message for a stale resourceVersion. */
export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again';

/** 403: a rule of admission or of the resource refuses the request. */
export const forbidden = (subject: Subject, name: string, why: string): StatusError =>
  new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `${qualified(subject.plural, subject.group)} "${name}" is forbidden: ${why}`,
    details: detailsOf(subject, name),
  });

/** 400: the request itself cannot be read. */
export const badRequest = (message: string): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message });

const noSuchPathMessage = 'the server could not find the requested resource';

/** 404: nothing is served at the path. */
export const noSuchPath = (): StatusError =>
  new StatusError({ code: 404, reason: 'NotFound', message: noSuchPathMessage, details: {} });

/** True when nothing is served at the path; false when no object has the name. */
export const isNoSuchPath = (error: StatusError): boolean =>
  error.code === 404 && error.message === noSuchPathMessage;

/** 405: the resource does not have the verb. */
export const methodNotAllowed = (): StatusError =>
  new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });

/** 410: the revision is too old to read or watch from. */
export const expired = (message: string): StatusError =>
  new StatusError({ code: 410, reason: 'Expired', message });

/** 422 with the error of every field, in the order given. */
export function invalid(
  subject: Subject,
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${qualified(subject.kind, subject.group)} "${name}" is invalid: ${text}`,
    details: {
      name,
      ...(subject.group === '' ? {} : { group: subject.group }),
      kind: subject.kind,
      causes: errors.map((error) => ({
        reason: error.type,
        message: error.message,
        field: error.field,
      })),
    },
  });
}

/** A value as messages show it. */
export const shownValue = (value: unknown): string =>
  value === undefined ? '' : JSON.stringify(value);

/** The error of a field whose value is not allowed, with the reason. */
export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  message: `Invalid value: ${shownValue(value)}: ${detail}`,
});

/** The error of a field that is missing. */
export const requiredValue = (field: string, detail = ''): FieldError => ({
  type: 'FieldValueRequired',
  field,
  message: detail === '' ? 'Required value' : `Required value: ${detail}`,
});

/** The error of a field that may not be set or changed. */
export const forbiddenValue = (field: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field,
  message: `Forbidden: ${detail}`,
});

/** The error of a field whose value is not among the supported ones, which it lists. */
export const unsupportedValue = (
  field: string,
  value: unknown,
  supported: readonly string[],
): FieldError => ({
  type: 'FieldValueNotSupported',
  field,
  message: `Unsupported value: ${shownValue(value)}: supported values: ${supported.map((item) => JSON.stringify(item)).join(', ')}`,
});

/** The error of an item that a list has already. */
export const duplicateValue = (field: string, value: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  message: `Duplicate value: ${shownValue(value)}`,
});
