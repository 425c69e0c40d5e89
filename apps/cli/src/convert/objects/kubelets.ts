import { type Raw, recordOf } from '@dovetail/core-kube-model';

import { type Draft, nameOf } from './draft.js';

const classRefOf = (pool: Draft): Raw =>
  recordOf(recordOf(recordOf(recordOf(pool.object['spec'])['template'])['spec'])['nodeClassRef']);

/** The pool with a class of another name. */
function referTo(pool: Draft, name: string): void {
  const spec = recordOf(pool.object['spec']);
  const template = recordOf(spec['template']);
  const node = recordOf(template['spec']);
  const nodeClassRef = { ...recordOf(node['nodeClassRef']), name };
  pool.object = {
    ...pool.object,
    spec: { ...spec, template: { ...template, spec: { ...node, nodeClassRef } } },
  };
}

const withKubelet = (object: Raw, kubelet: Raw | undefined): Raw => ({
  ...object,
  spec: {
    ...Object.fromEntries(
      Object.entries(recordOf(object['spec'])).filter(([name]) => name !== 'kubelet'),
    ),
    ...(kubelet === undefined ? {} : { kubelet }),
  },
});

const textOf = (kubelet: unknown): string => JSON.stringify(kubelet) ?? 'none';

/** A copy of the class for one pool, whose kubelet settings are not those of the other pools. */
function copyFor(pool: Draft, nodeClass: Draft, settings: Raw | undefined, name: string): Draft {
  const metadata = recordOf(nodeClass.object['metadata']);
  const text = `a copy of ${nameOf(nodeClass.object)} with the kubelet settings of NodePool ${nameOf(pool.object)}`;
  const copy = {
    ...withKubelet(nodeClass.object, settings),
    metadata: { ...metadata, name, uid: undefined, resourceVersion: undefined },
  };
  return {
    source: nodeClass.source,
    object: JSON.parse(JSON.stringify(copy)) as Raw,
    notes: [{ field: 'metadata.name', text }],
  };
}

/** The kubelet settings of one class while pools bring theirs. */
type Shelf = { readonly nodeClass: Draft; held: string | undefined; readonly copies: Draft[] };

class Shelves {
  readonly #byName = new Map<string, Shelf>();

  constructor(drafts: readonly Draft[]) {
    for (const draft of drafts) {
      if (draft.object['kind'] !== 'EC2NodeClass') continue;
      const own = recordOf(draft.object['spec'])['kubelet'];
      const held = own === undefined ? undefined : textOf(own);
      this.#byName.set(nameOf(draft.object), { nodeClass: draft, held, copies: [] });
    }
  }

  /** Gives the pool's settings to its class, or to a copy if the class has others. */
  place(pool: Draft, { field, settings }: NonNullable<Draft['kubelet']>): void {
    const name = String(classRefOf(pool)['name']);
    const shelf = this.#byName.get(name);
    if (shelf === undefined) {
      if (settings === undefined) return;
      const text = `left out: write it as spec.kubelet of EC2NodeClass ${name}, which is not among these objects: ${textOf(settings)}`;
      pool.notes.push({ field, text });
      return;
    }
    const target = this.#settle(pool, shelf, settings);
    if (settings !== undefined || target !== name)
      pool.notes.push({ field, text: `is spec.kubelet of EC2NodeClass ${target} now` });
  }

  /** The drafts, and behind each class its copies. */
  withCopies(drafts: readonly Draft[]): readonly Draft[] {
    const copies = new Map([...this.#byName.values()].map((one) => [one.nodeClass, one.copies]));
    return drafts.flatMap((draft) => [draft, ...(copies.get(draft) ?? [])]);
  }

  /** The name of the class that has the settings now. */
  #settle(pool: Draft, shelf: Shelf, settings: Raw | undefined): string {
    const { nodeClass, held, copies } = shelf;
    if (held !== undefined && held !== textOf(settings)) {
      const target = this.#freeName(`${nameOf(nodeClass.object)}-${nameOf(pool.object)}`);
      const copy = copyFor(pool, nodeClass, settings, target);
      copies.push(copy);
      this.#byName.set(target, { nodeClass: copy, held: textOf(settings), copies: [] });
      referTo(pool, target);
      return target;
    }
    if (held === undefined && settings !== undefined) {
      nodeClass.object = withKubelet(nodeClass.object, settings);
      const text = `from NodePool ${nameOf(pool.object)}: v1 has it in the class`;
      nodeClass.notes.push({ field: 'spec.kubelet', text });
    }
    shelf.held = textOf(settings);
    return nameOf(nodeClass.object);
  }

  #freeName(wanted: string): string {
    let name = wanted;
    for (let serial = 2; this.#byName.has(name); serial += 1) name = `${wanted}-${serial}`;
    return name;
  }
}

/**
 * Gives the kubelet settings of older pools to their classes, where v1 has them. Pools that share a
 * class and differ in them get copies of it, each behind its original.
 */
export function moveKubelets(drafts: readonly Draft[]): readonly Draft[] {
  const shelves = new Shelves(drafts);
  for (const pool of drafts) if (pool.kubelet !== undefined) shelves.place(pool, pool.kubelet);
  return shelves.withCopies(drafts);
}
