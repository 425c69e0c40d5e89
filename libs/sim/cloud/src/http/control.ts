import type { ServerResponse } from 'node:http';

import { lookUp } from '@dovetail/core-invariant';
import { messageOf } from '@dovetail/core-ports';

import { neighboursOf } from '../foundation/account.js';
import { AwsFault } from '../foundation/aws-fault.js';
import { accountPolicy } from '../parts/account-policy.js';
import type { HealthStatus } from '../parts/instances.js';
import type { Notice } from '../parts/notices.js';
import { PolicyError } from '../policy/policy.js';
import type { CloudEvent, CloudTwin } from '../twin/cloud-twin.js';
import { hourlyPriceOf } from '../twin/instance-price.js';
import type { Machine } from '../twin/machine.js';
import {
  integerIn,
  oneOf,
  refuseOthers,
  requiredInteger,
  requiredText,
  textIn,
  textsIn,
} from './json-fields.js';
import type { JsonObject } from './operation.js';
import { orderFailure, setCapacity, setLimit, setPrices } from './order-controls.js';
import { servedActions } from './served.js';

/** A request to the control API, under `/_twin/`. */
export type ControlRequest = {
  readonly method: string;
  readonly path: string;
  readonly body: string;
};
type Answer = { readonly status: number; readonly value: unknown };

/** A control: carries out the order in the body and answers JSON. */
type Control = (twin: CloudTwin, body: JsonObject) => unknown;

const done = { ok: true };

function notify(twin: CloudTwin, body: JsonObject): unknown {
  const kind = oneOf(body, 'kind', [
    'spot-interruption',
    'rebalance',
    'state-change',
    'capacity-reservation-interruption',
    'scheduled-change',
  ]);
  if (kind === undefined) throw new AwsFault('ValidationException', 'kind is required');
  const code = textIn(body, 'eventTypeCode');
  const notice: Notice =
    kind === 'scheduled-change'
      ? {
          kind,
          instanceIds: textsIn(body, 'instanceIds'),
          ...(code === undefined ? {} : { eventTypeCode: code }),
        }
      : kind === 'state-change'
        ? { kind, instanceId: requiredText(body, 'instanceId'), state: requiredText(body, 'state') }
        : { kind, instanceId: requiredText(body, 'instanceId') };
  twin.notify(notice);
  return done;
}

function setCluster(twin: CloudTwin, body: JsonObject): unknown {
  refuseOthers(body, ['version', 'endpoint', 'certificateAuthority', 'serviceCidr']);
  twin.setCluster(
    Object.fromEntries(Object.keys(body).map((name) => [name, requiredText(body, name)])),
  );
  return twin.cluster();
}

const healthStates: readonly HealthStatus[] = [
  'ok',
  'impaired',
  'initializing',
  'insufficient-data',
];

function setHealth(twin: CloudTwin, body: JsonObject): unknown {
  const [system, instance] = [
    oneOf(body, 'system', healthStates),
    oneOf(body, 'instance', healthStates),
  ];
  twin.setHealth(requiredText(body, 'instanceId'), {
    ...(system === undefined ? {} : { system }),
    ...(instance === undefined ? {} : { instance }),
  });
  return done;
}

/** Gives an access key its role and policies: texts, with the placeholders of deploy/iam. */
function putIdentity(twin: CloudTwin, body: JsonObject): unknown {
  refuseOthers(body, ['accessKey', 'role', 'policies']);
  twin.identities.put(requiredText(body, 'accessKey'), {
    role: requiredText(body, 'role'),
    policies: textsIn(body, 'policies').map((text) => {
      try {
        return accountPolicy(text, twin.account);
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        throw new AwsFault('ValidationException', `policies: ${error.message}`);
      }
    }),
  });
  return done;
}

/** Adds another team's subnets and security group to the same VPC. */
function addNeighbours(twin: CloudTwin): unknown {
  const neighbours = neighboursOf(twin.account);
  for (const subnet of neighbours.subnets) twin.network.putSubnet(subnet);
  for (const group of neighbours.securityGroups) twin.network.putSecurityGroup(group);
  return neighbours;
}

type InstanceView = Machine & {
  readonly state: string;
  readonly tenancy: string;
  /** Micro-dollars, at the price of now. */
  readonly hourlyPriceMicros?: number;
  readonly subnetId: string;
  readonly securityGroupIds: readonly string[];
  readonly fleetId?: string;
  readonly clientToken?: string;
};

function instanceView(twin: CloudTwin, id: string): InstanceView {
  const instance = twin.instances.get(id);
  const { state, tenancy, subnetId, securityGroupIds, fleetId, clientToken } = instance;
  const hourlyPriceMicros = hourlyPriceOf(twin, instance);
  return {
    ...twin.machine(id),
    state,
    tenancy,
    subnetId,
    securityGroupIds,
    ...(hourlyPriceMicros === undefined ? {} : { hourlyPriceMicros }),
    ...(fleetId === undefined ? {} : { fleetId }),
    ...(clientToken === undefined ? {} : { clientToken }),
  };
}

const listInstances = (twin: CloudTwin): unknown =>
  twin.instances.all().map(({ id }) => instanceView(twin, id));

/**
 * The control API by method and path under `/_twin/`, for tests and the lab. AWS has no
 * counterpart.
 */
const controls: Readonly<Record<string, Control>> = {
  'GET health': () => done,
  'GET served': () => servedActions,
  'GET account': (twin) => ({
    ...twin.account,
    cluster: twin.cluster(),
    types: twin.account.types.length,
  }),
  'GET instances': listInstances,
  'GET fleets': (twin) =>
    twin.fleets
      .all()
      .map(({ id, input: { clientToken, configs } }) => ({
        fleetId: id,
        clientToken,
        configs: configs.map(({ template, overrides }) => ({
          launchTemplateName: template.name,
          overrides,
        })),
      })),
  'GET templates': (twin) =>
    twin.templates.describe({ filters: [] }).map(({ id, name, tags }) => ({ id, name, tags })),
  'GET calls': (twin) => twin.gate.counts(),
  'DELETE calls': (twin) => {
    twin.gate.resetCounts();
    return done;
  },
  'GET queue': (twin) => twin.queue.depth(),
  'POST capacity': setCapacity,
  'POST limits': setLimit,
  'POST prices': setPrices,
  'POST fail': orderFailure,
  'DELETE fail': (twin) => {
    twin.gate.endFailures();
    return done;
  },
  'POST latency': (twin, body) => {
    twin.gate.setLatency(requiredText(body, 'action'), requiredInteger(body, 'ms'));
    return done;
  },
  'POST rights': (twin, body) => {
    twin.gate.setRights(requiredText(body, 'accessKey'), textsIn(body, 'allowed'));
    return done;
  },
  'POST identities': putIdentity,
  'POST advance': (twin, body) => {
    twin.advance(requiredInteger(body, 'ms'));
    return { nowMs: twin.timeline.nowMs() };
  },
  'POST interrupt': (twin, body) => {
    twin.interrupt(requiredText(body, 'instanceId'), integerIn(body, 'noticeMs'));
    return done;
  },
  'POST notices': notify,
  'POST messages': (twin, body) =>
    body['bodies'] === undefined
      ? twin.queue.send(requiredText(body, 'body'))
      : textsIn(body, 'bodies').map((text) => twin.queue.send(text)),
  'POST stop': (twin, body) => twin.instances.stop(requiredText(body, 'instanceId')),
  'POST health': setHealth,
  'POST scheduled-events': (twin, body) => {
    twin.scheduleEvent(requiredText(body, 'instanceId'), requiredText(body, 'code'));
    return done;
  },
  'POST parameters': (twin, body) => {
    twin.images.setParameter(requiredText(body, 'name'), requiredText(body, 'value'));
    return done;
  },
  'POST images/release': (twin, body) => ({
    release: twin.images.release(requiredText(body, 'kubernetesVersion')),
  }),
  'POST images/deprecate': (twin, body) => {
    twin.images.deprecate(requiredText(body, 'imageId'));
    return done;
  },
  'POST cluster': setCluster,
  'POST neighbours': addNeighbours,
  'POST roles': (twin, body) => {
    twin.iam.putRole(requiredText(body, 'name'));
    return done;
  },
};

/**
 * Answers a control request. 404: no such control. 400: a bad body, with the field and the remedy.
 */
export function controlAnswer(twin: CloudTwin, request: ControlRequest): Answer {
  const one =
    request.method === 'GET' ? /^instances\/(i-[0-9a-f]+)$/.exec(request.path)?.[1] : undefined;
  const control =
    one === undefined
      ? lookUp(controls, `${request.method} ${request.path}`)
      : (asked: CloudTwin) => instanceView(asked, one);
  if (control === undefined)
    return {
      status: 404,
      value: {
        message: `no control ${request.method} ${request.path}; there are: ${Object.keys(controls).join(', ')}, GET events, GET instances/<id>`,
      },
    };
  try {
    twin.timeline.settle();
    return {
      status: 200,
      value: control(twin, JSON.parse(request.body === '' ? '{}' : request.body) as JsonObject),
    };
  } catch (error) {
    return { status: 400, value: { message: messageOf(error) } };
  }
}

/**
 * `GET /_twin/events?since=<sequence>`: the later events as JSON lines, then each new one.
 * `follow=false` ends after the present ones.
 */
export function followEvents(
  twin: CloudTwin,
  query: URLSearchParams,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const write = (event: CloudEvent): void => {
    response.write(`${JSON.stringify(event)}\n`);
  };
  for (const event of twin.eventsSince(Number(query.get('since') ?? 0))) write(event);
  if (query.get('follow') === 'false') {
    response.end();
    return;
  }
  response.flushHeaders();
  response.once('close', twin.subscribe(write));
}
