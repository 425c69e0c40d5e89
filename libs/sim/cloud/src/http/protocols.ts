import { lookUp } from '@dovetail/core-invariant';

import { AwsFault, NotServedFault } from '../foundation/aws-fault.js';
import { wouldHave } from '../parts/fleets.js';
import type { AccessRequest } from '../policy/evaluate.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { jsonAccess, queryAccess } from './access.js';
import { describeCluster } from './eks-operations.js';
import type { Caller, JsonObject } from './operation.js';
import { parseParams } from './params.js';
import { servedJson, servedQueries } from './served.js';
import { type Xml, xmlDocument } from './xml.js';

/** A request as it came. `target` is the header of JSON protocols that names the operation. */
export type WireRequest = {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly target?: string;
  readonly origin: string;
  readonly stop: AbortSignal;
};

/** An answer as it is sent. */
export type WireAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** A request whose protocol, service and operation are known. */
export type WireCall = {
  readonly service: string;
  /** `service:Operation`, as policies and the gate name it. */
  readonly action: string;
  readonly resources: number;
  /**
   * The requests that the caller's policies must allow. Throws AwsFault for a body that it cannot
   * read.
   */
  access(twin: CloudTwin): readonly AccessRequest[];
  /** Does it and renders the result. */
  answer(twin: CloudTwin, caller: Caller): Promise<WireAnswer>;
  /** Renders a fault in the protocol's shape. */
  fault(fault: AwsFault): WireAnswer;
};

const versions: Readonly<
  Record<string, { readonly service: 'ec2' | 'iam' | 'sts'; readonly namespace: string }>
> = {
  '2016-11-15': { service: 'ec2', namespace: 'http://ec2.amazonaws.com/doc/2016-11-15/' },
  '2010-05-08': { service: 'iam', namespace: 'https://iam.amazonaws.com/doc/2010-05-08/' },
  '2011-06-15': { service: 'sts', namespace: 'https://sts.amazonaws.com/doc/2011-06-15/' },
};

let answered = 0;
/** Each answer names itself, so that a caller's log line finds it. */
const requestId = (): string =>
  `00000000-0000-4000-8000-${String((answered += 1)).padStart(12, '0')}`;

const xmlAnswer = (status: number, root: Xml): WireAnswer => ({
  status,
  headers: { 'content-type': 'text/xml;charset=UTF-8' },
  body: xmlDocument(root),
});

function queryFault(service: string, fault: AwsFault): WireAnswer {
  const { code: Code, message: Message, status } = fault;
  if (service === 'ec2')
    return xmlAnswer(status, {
      Response: { Errors: { Error: { Code, Message } }, RequestID: requestId() },
    });
  return xmlAnswer(status, {
    ErrorResponse: {
      Error: { Type: status >= 500 ? 'Receiver' : 'Sender', Code, Message },
      RequestId: requestId(),
    },
  });
}

function queryResult(
  service: string,
  name: string,
  namespace: string,
  result: { readonly [element: string]: Xml },
): WireAnswer {
  if (service === 'ec2')
    return xmlAnswer(200, {
      [`${name}Response`]: { '@xmlns': namespace, requestId: requestId(), ...result },
    });
  return xmlAnswer(200, {
    [`${name}Response`]: {
      '@xmlns': namespace,
      [`${name}Result`]: result,
      ResponseMetadata: { RequestId: requestId() },
    },
  });
}

/** Operations that look at DryRun themselves, because they check the launch first. */
const ownDryRun: ReadonlySet<string> = new Set(['CreateFleet', 'RunInstances']);

function queryCall(body: string): WireCall {
  const params = parseParams(body);
  const name = params.text('Action') ?? '';
  const { service, namespace } = lookUp(versions, params.text('Version') ?? '') ?? {
    service: 'ec2',
    namespace: '',
  };
  const operation = lookUp(servedQueries[service], name);
  return {
    service,
    action: `${service}:${name}`,
    resources: operation?.resources?.(params) ?? 1,
    fault: (fault) => queryFault(service, fault),
    // The parameters are read anew, because the operation must see which of them it did not read.
    access: (twin) =>
      operation === undefined ? [] : queryAccess(twin, `${service}:${name}`, parseParams(body)),
    answer: (twin, caller) => {
      if (operation === undefined)
        throw new NotServedFault(
          'InvalidAction',
          `The action ${name} is not valid for this web service: it is not among what the twin serves`,
        );
      if (!ownDryRun.has(name) && params.flag('DryRun') === true) throw wouldHave();
      const result = operation.run(twin, params, caller);
      params.done();
      return Promise.resolve(queryResult(service, name, namespace, result));
    },
  };
}

function jsonFault(service: string, fault: AwsFault): WireAnswer {
  const query: Readonly<Record<string, string>> =
    service === 'sqs' && fault.code === 'QueueDoesNotExist'
      ? { 'x-amzn-query-error': 'AWS.SimpleQueueService.NonExistentQueue;Sender' }
      : {};
  return {
    status: fault.status,
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amzn-errortype': fault.code,
      'x-amzn-requestid': requestId(),
      ...query,
    },
    body: JSON.stringify({
      __type: service === 'sqs' ? `com.amazonaws.sqs#${fault.code}` : fault.code,
      message: fault.message,
    }),
  };
}

function jsonObject(body: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body === '' ? '{}' : body);
  } catch {
    throw new AwsFault('SerializationException', 'The body is not JSON');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new AwsFault('SerializationException', 'The body is not a JSON object');
  return value as JsonObject;
}

function jsonCall(request: WireRequest, target: string): WireCall {
  const [prefix = '', name = ''] = target.split('.');
  const served = lookUp(servedJson, prefix);
  const service = served?.service ?? prefix;
  return {
    service,
    action: `${service}:${name}`,
    resources: 1,
    fault: (fault) => jsonFault(service, fault),
    access: (twin) => jsonAccess(twin, `${service}:${name}`, jsonObject(request.body)),
    async answer(twin) {
      const operation = lookUp(served?.operations, name);
      if (operation === undefined)
        throw new NotServedFault(
          'UnknownOperationException',
          `${target} is not among what the twin serves`,
        );
      const result = await operation(twin, jsonObject(request.body), {
        origin: request.origin,
        stop: request.stop,
      });
      return {
        status: 200,
        headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': requestId() },
        body: JSON.stringify(result),
      };
    },
  };
}

function eksCall(path: string): WireCall {
  const name = decodeURIComponent(path.slice('/clusters/'.length));
  return {
    service: 'eks',
    action: 'eks:DescribeCluster',
    resources: 1,
    fault: (fault) => ({
      ...jsonFault('eks', fault),
      body: JSON.stringify({ message: fault.message }),
    }),
    access: (twin) => jsonAccess(twin, 'eks:DescribeCluster', { name }),
    answer: (twin) =>
      Promise.resolve({
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(describeCluster(twin, name)),
      }),
  };
}

/** Which operation a request is for; undefined when it is in no protocol that is served. */
export function wireCall(request: WireRequest): WireCall | undefined {
  if (request.target !== undefined) return jsonCall(request, request.target);
  if (request.method === 'GET' && /^\/clusters\/[^/]+$/.test(request.path))
    return eksCall(request.path);
  if (request.method === 'POST' && /(^|&)Action=/.test(request.body))
    return queryCall(request.body);
  return undefined;
}
