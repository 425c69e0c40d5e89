import type { Bus, Cloud, KubeApi, WorkItem } from '@dovetail/core-ports';

/** The ports of one process that dies at a certain effect: that effect happens or not, and nothing after it does or answers. */
export type Mortal = { readonly kube: KubeApi; readonly cloud: Cloud; readonly bus: Bus; readonly effects: () => readonly string[]; readonly dead: () => boolean };

const never = (): Promise<never> => new Promise<never>(() => undefined);

/** Counts what leaves the process (Events, Leases' renewals and decisions aside) and dies around the n-th. */
export function mortal(ports: { readonly kube: KubeApi; readonly cloud: Cloud; readonly bus: Bus }, death: { readonly at: number; readonly when: 'before' | 'after' }): Mortal {
  const effects: string[] = [];
  let dead = false;
  const effect = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
    if (dead) return never();
    effects.push(name);
    const mine = effects.length === death.at;
    if (mine) dead = true;
    if (mine && death.when === 'before') return never();
    const result = await act();
    return dead ? never() : result;
  };
  const alive = async <T>(act: () => Promise<T>): Promise<T> => {
    if (dead) return never();
    const result = await act();
    return dead ? never() : result;
  };
  const { kube, cloud, bus } = ports;
  const mortalItem = (item: WorkItem): WorkItem => ({ ...item, message: item.message, deliveries: item.deliveries, ack: () => effect('ack', () => item.ack()), nak: (delayMs) => alive(() => item.nak(delayMs)), working: () => alive(() => item.working()) });
  return {
    effects: () => effects, dead: () => dead,
    kube: {
      watch: (options, stop) => lively(kube.watch(options, stop), () => dead), list: (resource, options) => alive(() => kube.list(resource, options)), get: (ref) => alive(() => kube.get(ref)),
      create: (resource, object) => (resource.plural === 'events' ? alive(() => kube.create(resource, object)) : effect(`create ${resource.plural}`, () => kube.create(resource, object))),
      replace: (resource, object, options) => (resource.plural === 'leases' && isRenewal(object) ? alive(() => kube.replace(resource, object, options)) : effect(`replace ${resource.plural}`, () => kube.replace(resource, object, options))),
      patch: (ref, patch, options) => effect(`patch ${ref.resource.plural}${options?.subresource === undefined ? '' : '/status'}`, () => kube.patch(ref, patch, options)),
      delete: (ref, options) => effect(`delete ${ref.resource.plural}`, () => kube.delete(ref, options)), evict: (pod) => effect('evict', () => kube.evict(pod)),
      bind: (pod, nodeName) => effect('bind', () => kube.bind(pod, nodeName)), serves: (resource) => alive(() => kube.serves(resource)), serverVersion: () => alive(() => kube.serverVersion()),
    },
    cloud: new Proxy(cloud, { get: (target, name: keyof Cloud) => {
      const call = target[name] as (...args: unknown[]) => Promise<unknown>;
      const changes = name === 'createFleet' || name === 'ensureLaunchTemplate' || name === 'tagInstances' || name === 'ensureInstanceProfile';
      return (...args: unknown[]) => (changes ? effect(name, () => call.apply(target, args)) : alive(() => call.apply(target, args)));
    } }),
    bus: {
      ensureStreams: (specs) => alive(() => bus.ensureStreams(specs)), follow: (options, stop) => lively(bus.follow(options, stop), () => dead),
      publish: (message) => (message.subject.includes('.state.') ? effect(`tell ${message.subject.split('.')[4] ?? ''}`, () => bus.publish(message)) : alive(() => bus.publish(message))),
      work: (spec, stop) => mapped(lively(bus.work(spec, stop), () => dead), mortalItem), lastSequences: (stream, filter) => alive(() => bus.lastSequences(stream, filter)),
      position: (stream) => alive(() => bus.position(stream)), lastMessage: (stream, subject) => alive(() => bus.lastMessage(stream, subject)),
      request: (subject, payload, options) => alive(() => bus.request(subject, payload, options)), serve: (options, handler, stop) => bus.serve(options, handler, stop), connected: () => bus.connected(),
    },
  };
}

let lastRound: string | undefined;
function isRenewal(object: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }): boolean {
  const round = object.metadata.annotations?.['dovetail.sh/round'];
  const same = round === lastRound;
  lastRound = round;
  return same;
}

async function* lively<T>(items: AsyncIterable<T>, dead: () => boolean): AsyncGenerator<T> {
  for await (const item of items) {
    if (dead()) await never();
    yield item;
  }
}

async function* mapped<T, R>(items: AsyncIterable<T>, map: (item: T) => R): AsyncGenerator<R> {
  for await (const item of items) yield map(item);
}
