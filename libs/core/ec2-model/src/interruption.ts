/** What a notice is about, common to all kinds: whose it is (to be checked against our own account and region) and when it was made. */
export type NoticeOrigin = { readonly accountId: string; readonly region: string; readonly timeMs: number };

/** An EventBridge message from the interruption queue, understood; ids are EC2 instance ids. */
export type InterruptionNotice =
  | NoticeOrigin & { readonly kind: 'spot-interrupted'; readonly instanceIds: readonly string[] }
  | NoticeOrigin & { readonly kind: 'rebalance-recommended'; readonly instanceIds: readonly string[] }
  | NoticeOrigin & { readonly kind: 'instance-stopping' | 'instance-terminating'; readonly state: string; readonly instanceIds: readonly string[] }
  | NoticeOrigin & { readonly kind: 'scheduled-change'; readonly instanceIds: readonly string[] }
  | NoticeOrigin & { readonly kind: 'reservation-interrupted'; readonly instanceIds: readonly string[] };

/**
 * What a message body says: a notice; something of these sources that calls for nothing (a starting instance, another
 * service's health event); a kind this build does not know; or no EventBridge message at all, with the field at fault.
 */
export type ParsedInterruption =
  | { readonly kind: 'notice'; readonly notice: InterruptionNotice }
  | { readonly kind: 'irrelevant'; readonly why: string }
  | { readonly kind: 'unknown'; readonly source: string; readonly detailType: string; readonly version: string }
  | { readonly kind: 'malformed'; readonly reason: string };

type Fields = Readonly<Record<string, unknown>>;

const malformed = (reason: string): ParsedInterruption => ({ kind: 'malformed', reason });
const instanceIdPattern = /^i-[0-9a-f]{8,17}$/;

/**
 * Reads the body of an SQS message as EventBridge delivers it. The kind is named by version, source and detail-type
 * together, as in AWS' documentation of these five events.
 */
export function parseInterruption(body: string): ParsedInterruption {
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    return malformed('the body is not JSON');
  }
  if (!isFields(event)) return malformed('the body is not a JSON object');
  const { version, source, 'detail-type': detailType, account, region, time, detail } = event;
  if (typeof version !== 'string' || typeof source !== 'string' || typeof detailType !== 'string') return malformed('version, source and detail-type must be strings');
  const read = readers.get(`${version} ${source} ${detailType}`);
  if (read === undefined) return { kind: 'unknown', source, detailType, version };
  if (typeof account !== 'string' || typeof region !== 'string') return malformed('account and region must be strings');
  const timeMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(timeMs)) return malformed(`time is ${JSON.stringify(time)}, not an ISO 8601 instant`);
  return isFields(detail) ? read({ accountId: account, region, timeMs }, detail) : malformed('detail is not an object');
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

type Reader = (origin: NoticeOrigin, detail: Fields) => ParsedInterruption;

const readers: ReadonlyMap<string, Reader> = new Map([
  ['0 aws.ec2 EC2 Spot Instance Interruption Warning', simple('spot-interrupted')],
  ['0 aws.ec2 EC2 Instance Rebalance Recommendation', simple('rebalance-recommended')],
  ['0 aws.ec2 EC2 Capacity Reservation Instance Interruption Warning', simple('reservation-interrupted')],
  ['0 aws.ec2 EC2 Instance State-change Notification', stateChange],
  ['0 aws.health AWS Health Event', healthEvent],
]);

function instanceIdOf(detail: Fields): string | undefined {
  const id = detail['instance-id'];
  return typeof id === 'string' && instanceIdPattern.test(id) ? id : undefined;
}

const noInstance = (detail: Fields): ParsedInterruption => malformed(`detail.instance-id is ${JSON.stringify(detail['instance-id'])}, not an instance id`);

function simple(kind: 'spot-interrupted' | 'rebalance-recommended' | 'reservation-interrupted'): Reader {
  return (origin, detail) => {
    const id = instanceIdOf(detail);
    return id === undefined ? noInstance(detail) : { kind: 'notice', notice: { ...origin, kind, instanceIds: [id] } };
  };
}

function stateChange(origin: NoticeOrigin, detail: Fields): ParsedInterruption {
  const { state } = detail;
  if (typeof state !== 'string') return malformed(`detail.state is ${JSON.stringify(state)}, not a string`);
  const id = instanceIdOf(detail);
  if (id === undefined) return noInstance(detail);
  switch (state) {
    case 'stopping': case 'stopped': return { kind: 'notice', notice: { ...origin, kind: 'instance-stopping', state, instanceIds: [id] } };
    case 'shutting-down': case 'terminated': return { kind: 'notice', notice: { ...origin, kind: 'instance-terminating', state, instanceIds: [id] } };
    default: return { kind: 'irrelevant', why: `the instance is ${state}` };
  }
}

/** Only EC2's scheduled changes end instances; such an event may name many. */
function healthEvent(origin: NoticeOrigin, detail: Fields): ParsedInterruption {
  const { service, eventTypeCategory, affectedEntities } = detail;
  if (service !== 'EC2' || eventTypeCategory !== 'scheduledChange') return { kind: 'irrelevant', why: `a health event of ${String(service)}, category ${String(eventTypeCategory)}` };
  if (!Array.isArray(affectedEntities)) return malformed('detail.affectedEntities is not a list');
  const values = affectedEntities.map((entity: unknown) => (isFields(entity) ? entity['entityValue'] : undefined));
  const instanceIds = [...new Set(values.filter((value): value is string => typeof value === 'string' && instanceIdPattern.test(value)))].sort();
  if (instanceIds.length === 0) return { kind: 'irrelevant', why: 'a scheduled change that names no instance' };
  return { kind: 'notice', notice: { ...origin, kind: 'scheduled-change', instanceIds } };
}
