import { compareText, isRecord, type Raw } from '@dovetail/core-kube-model';

/** The origin of a notice. The reaper refuses notices of other accounts and regions. */
type NoticeOrigin = {
  readonly accountId: string;
  readonly region: string;
  readonly timeMs: number;
};

/**
 * An interruption of EC2 instances, read from an EventBridge message. Invariant: at least one
 * instance id.
 */
export type InterruptionNotice =
  | (NoticeOrigin & { readonly kind: 'spot-interrupted'; readonly instanceIds: readonly string[] })
  | (NoticeOrigin & {
      readonly kind: 'rebalance-recommended';
      readonly instanceIds: readonly string[];
    })
  | (NoticeOrigin & {
      readonly kind: 'instance-stopping' | 'instance-terminating';
      readonly state: string;
      readonly instanceIds: readonly string[];
    })
  | (NoticeOrigin & {
      readonly kind: 'scheduled-change';
      readonly instanceIds: readonly string[];
      /** When the change begins. Absent: the event does not say. */
      readonly startMs?: number;
    })
  | (NoticeOrigin & {
      readonly kind: 'reservation-interrupted';
      readonly instanceIds: readonly string[];
    });

/**
 * The content of a message. It is a notice, an event that needs no action, or an event of an
 * unknown kind. Any other message is no EventBridge message, with the reason.
 */
export type ParsedInterruption =
  | { readonly kind: 'notice'; readonly notice: InterruptionNotice }
  | { readonly kind: 'irrelevant'; readonly why: string }
  | {
      readonly kind: 'unknown';
      readonly source: string;
      readonly detailType: string;
      readonly version: string;
    }
  | { readonly kind: 'malformed'; readonly reason: string };

const malformed = (reason: string): ParsedInterruption => ({ kind: 'malformed', reason });
const instanceIdPattern = /^i-[0-9a-f]{8,17}$/;

/**
 * Reads the body of an SQS message that EventBridge delivered. Version, source and detail-type
 * together name the kind, as AWS documents these five events. Never throws.
 */
export function parseInterruption(body: string): ParsedInterruption {
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return malformed('the body is not JSON');
  }
  if (!isRecord(event)) return malformed('the body is not a JSON object');
  const { version, source, 'detail-type': detailType, account, region, time, detail } = event;
  if (typeof version !== 'string' || typeof source !== 'string' || typeof detailType !== 'string')
    return malformed('version, source and detail-type must be strings');
  const read = readers.get(`${version} ${source} ${detailType}`);
  if (read === undefined) return { kind: 'unknown', source, detailType, version };
  if (typeof account !== 'string' || typeof region !== 'string')
    return malformed('account and region must be strings');
  const timeMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(timeMs))
    return malformed(`time is ${JSON.stringify(time)}, not an ISO 8601 instant`);
  return isRecord(detail)
    ? read({ accountId: account, region, timeMs }, detail)
    : malformed('detail is not an object');
}

type Reader = (origin: NoticeOrigin, detail: Raw) => ParsedInterruption;

const readers: ReadonlyMap<string, Reader> = new Map([
  ['0 aws.ec2 EC2 Spot Instance Interruption Warning', simple('spot-interrupted')],
  ['0 aws.ec2 EC2 Instance Rebalance Recommendation', simple('rebalance-recommended')],
  [
    '0 aws.ec2 EC2 Capacity Reservation Instance Interruption Warning',
    simple('reservation-interrupted'),
  ],
  ['0 aws.ec2 EC2 Instance State-change Notification', stateChange],
  ['0 aws.health AWS Health Event', healthEvent],
]);

function instanceIdOf(detail: Raw): string | undefined {
  const id = detail['instance-id'];
  return typeof id === 'string' && instanceIdPattern.test(id) ? id : undefined;
}

const noInstance = (detail: Raw): ParsedInterruption =>
  malformed(`detail.instance-id is ${JSON.stringify(detail['instance-id'])}, not an instance id`);

function simple(
  kind: 'spot-interrupted' | 'rebalance-recommended' | 'reservation-interrupted',
): Reader {
  return (origin, detail) => {
    const id = instanceIdOf(detail);
    return id === undefined
      ? noInstance(detail)
      : { kind: 'notice', notice: { ...origin, kind, instanceIds: [id] } };
  };
}

function stateChange(origin: NoticeOrigin, detail: Raw): ParsedInterruption {
  const { state } = detail;
  if (typeof state !== 'string')
    return malformed(`detail.state is ${JSON.stringify(state)}, not a string`);
  const id = instanceIdOf(detail);
  if (id === undefined) return noInstance(detail);
  switch (state) {
    case 'stopping':
    case 'stopped':
      return {
        kind: 'notice',
        notice: { ...origin, kind: 'instance-stopping', state, instanceIds: [id] },
      };
    case 'shutting-down':
    case 'terminated':
      return {
        kind: 'notice',
        notice: { ...origin, kind: 'instance-terminating', state, instanceIds: [id] },
      };
    default:
      return { kind: 'irrelevant', why: `the instance is ${state}` };
  }
}

/**
 * Reads a health event. Only EC2's scheduled changes end instances; one event may name many. AWS
 * sends the event again when it is over (`statusCode` is `closed`).
 */
function healthEvent(origin: NoticeOrigin, detail: Raw): ParsedInterruption {
  const { service, eventTypeCategory, statusCode, affectedEntities, startTime } = detail;
  if (service !== 'EC2' || eventTypeCategory !== 'scheduledChange')
    return {
      kind: 'irrelevant',
      why: `a health event of ${String(service)}, category ${String(eventTypeCategory)}`,
    };
  if (statusCode === 'closed')
    return { kind: 'irrelevant', why: 'a scheduled change that is over' };
  if (!Array.isArray(affectedEntities)) return malformed('detail.affectedEntities is not a list');
  const values = affectedEntities.map((entity: unknown) =>
    isRecord(entity) ? entity['entityValue'] : undefined,
  );
  const instanceIds = [
    ...new Set(
      values.filter(
        (value): value is string => typeof value === 'string' && instanceIdPattern.test(value),
      ),
    ),
  ].sort(compareText);
  if (instanceIds.length === 0)
    return { kind: 'irrelevant', why: 'a scheduled change that names no instance' };
  const startMs = typeof startTime === 'string' ? Date.parse(startTime) : Number.NaN;
  const start = Number.isNaN(startMs) ? {} : { startMs };
  return { kind: 'notice', notice: { ...origin, kind: 'scheduled-change', instanceIds, ...start } };
}
