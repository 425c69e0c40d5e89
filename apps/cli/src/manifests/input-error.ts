/** A place in the input: a file, and a line if one is known. */
export type Place = { readonly file: string; readonly line?: number };

/**
 * Input that cannot be used. The command ends with 64 and names the place, the value and the
 * remedy.
 */
export class InputError extends Error {
  override readonly name = 'InputError';
  readonly place: Place | undefined;
  readonly field: string | undefined;
  constructor(
    message: string,
    details: { readonly place?: Place; readonly field?: string; readonly cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.place = details.place;
    this.field = details.field;
  }

  /** `pods.yaml:12: spec.containers[0].resources.requests.cpu: …`, in the form of compilers. */
  get text(): string {
    const place =
      this.place === undefined
        ? ''
        : `${this.place.file}${this.place.line === undefined ? '' : `:${this.place.line}`}: `;
    return `${place}${this.field === undefined || this.field === '' ? '' : `${this.field}: `}${this.message}`;
  }
}
