import type { CloudTwin } from '../twin/cloud-twin.js';
import type { Params } from './params.js';
import type { Xml } from './xml.js';

/** The owner of the access key that signed the call. */
export type Caller = { readonly accessKey: string };

/** A query operation (EC2, IAM, STS): parameters in, the elements of its result out. */
export type QueryOperation = {
  /** How many resources the call names, for resource rate limits. */
  readonly resources?: (params: Params) => number;
  readonly run: (
    twin: CloudTwin,
    params: Params,
    caller: Caller,
  ) => { readonly [element: string]: Xml };
};

/** The operations of a service with the query protocol, by name. */
export type QueryOperations = Readonly<Record<string, QueryOperation>>;

/**
 * A JSON operation (SSM, SQS, Pricing): takes the request's object and returns the answer's. `stop`
 * is aborted when the caller hangs up.
 */
type JsonOperation = (
  twin: CloudTwin,
  input: JsonObject,
  call: { readonly origin: string; readonly stop: AbortSignal },
) => unknown;

/** The operations of a service with a JSON protocol, by name. */
export type JsonOperations = Readonly<Record<string, JsonOperation>>;

/** A parsed JSON object whose fields nothing has checked yet. */
export type JsonObject = { readonly [key: string]: unknown };
