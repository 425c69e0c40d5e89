import { AwsFault } from '../foundation/aws-fault.js';
import type { Bucket, OrderedFailure } from '../foundation/gate.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import {
  integerIn,
  oneOf,
  refuseOthers,
  requiredInteger,
  requiredText,
  textIn,
} from './json-fields.js';
import type { JsonObject } from './operation.js';
import { servedActions } from './served.js';

const done = { ok: true };

const invalid = (message: string): AwsFault => new AwsFault('ValidationException', message);

/** An instance type of the account. An unknown name would change nothing, so it is refused. */
function typeIn(twin: CloudTwin, body: JsonObject): string | undefined {
  const name = textIn(body, 'instanceType');
  if (name !== undefined && !twin.types.has(name))
    throw invalid(`instanceType: ${name} is not sold in ${twin.account.region}`);
  return name;
}

function zoneIn(twin: CloudTwin, body: JsonObject): string | undefined {
  const name = textIn(body, 'zone');
  const zones = [...new Set(twin.account.subnets.map(({ zone }) => zone))].sort();
  if (name !== undefined && !zones.includes(name))
    throw invalid(`zone: ${name} has no subnet here; zones with one are ${zones.join(', ')}`);
  return name;
}

/** An action of the twin, or `*` for all. */
function actionIn(body: JsonObject): string {
  const name = requiredText(body, 'action');
  if (name !== '*' && !servedActions.includes(name))
    throw invalid(`action: ${name} is not served here; served are *, ${servedActions.join(', ')}`);
  return name;
}

/** Sets the free places of the pools that fit. */
export function setCapacity(twin: CloudTwin, body: JsonObject): unknown {
  refuseOthers(body, ['instanceType', 'zone', 'capacityType', 'free']);
  const free = body['free'] === 'unlimited' ? 'unlimited' : requiredInteger(body, 'free');
  const [instanceType, zone, capacityType] = [
    typeIn(twin, body),
    zoneIn(twin, body),
    oneOf(body, 'capacityType', ['on-demand', 'spot']),
  ];
  twin.setCapacity({
    free,
    ...(instanceType === undefined ? {} : { instanceType }),
    ...(zone === undefined ? {} : { zone }),
    ...(capacityType === undefined ? {} : { capacityType }),
  });
  return done;
}

/** Gives an action a bucket of this size, none, or the documented one again. */
export function setLimit(twin: CloudTwin, body: JsonObject): unknown {
  refuseOthers(body, ['action', 'capacity', 'refillPerSecond', 'none', 'documented']);
  const bucket: Bucket | 'none' | 'documented' =
    body['documented'] === true
      ? 'documented'
      : body['none'] === true
        ? 'none'
        : {
            capacity: requiredInteger(body, 'capacity'),
            refillPerSecond: requiredInteger(body, 'refillPerSecond'),
          };
  twin.gate.setBucket(actionIn(body), bucket);
  return done;
}

/** Makes the next calls of an action fail. */
export function orderFailure(twin: CloudTwin, body: JsonObject): unknown {
  refuseOthers(body, ['action', 'code', 'message', 'status', 'times', 'when']);
  const [message, status, when] = [
    textIn(body, 'message'),
    integerIn(body, 'status'),
    oneOf(body, 'when', ['before', 'after']),
  ];
  const order: OrderedFailure = {
    action: actionIn(body),
    code: requiredText(body, 'code'),
    times: integerIn(body, 'times') ?? 1,
    ...(message === undefined ? {} : { message }),
    ...(status === undefined ? {} : { status }),
    ...(when === undefined ? {} : { when }),
  };
  twin.gate.fail(order);
  return done;
}

/**
 * From now on the Spot pools that fit cost so many percent of what the twin draws for them. 100 is
 * the drawn price again.
 */
export function setPrices(twin: CloudTwin, body: JsonObject): unknown {
  refuseOthers(body, ['percent', 'family', 'instanceType', 'zone']);
  const percent = requiredInteger(body, 'percent');
  if (percent < 1 || percent > 100_000)
    throw invalid(`percent: ${String(percent)} is not from 1 to 100000`);
  const [family, type, zone] = [textIn(body, 'family'), typeIn(twin, body), zoneIn(twin, body)];
  if (family !== undefined && ![...twin.types.keys()].some((name) => name.startsWith(`${family}.`)))
    throw invalid(`family: ${family} is not sold in ${twin.account.region}`);
  twin.market.turn(
    {
      ...(family === undefined ? {} : { family }),
      ...(type === undefined ? {} : { type }),
      ...(zone === undefined ? {} : { zone }),
    },
    percent / 100,
    twin.timeline.nowMs(),
  );
  return done;
}
