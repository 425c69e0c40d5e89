import {
  type ServedResource,
  servedResources,
  type Subresource,
} from '../model/served-resources.js';
import { builtinSchema, type Schema } from '../schema/schema.js';

/** A printer column of a custom resource. */
export type PrinterColumn = {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  readonly format?: string;
  readonly priority?: number;
};

/** The places of the scale subresource in the object, as paths with dots. */
export type ScalePaths = {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
};

/** A resource in one version, as paths name it. */
export type ResourceType = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly subresources: readonly Subresource[];
  readonly generation: boolean;
  readonly fields: readonly string[];
  /** The table of its objects, which all versions of the resource share. */
  readonly table: string;
  readonly custom: boolean;
  readonly schema?: Schema;
  readonly columns?: readonly PrinterColumn[];
  readonly scale?: ScalePaths;
};

/** `plural` or `plural.group`: the name of the table that holds a resource's objects. */
export const tableName = (group: string, plural: string): string =>
  group === '' ? plural : `${plural}.${group}`;

/** The `apiVersion` of the type: group and version, or the version alone in the core group. */
export const apiVersionOf = (type: { readonly group: string; readonly version: string }): string =>
  type.group === '' ? type.version : `${type.group}/${type.version}`;

const replicasScale: ScalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};

function builtinType(served: ServedResource): ResourceType {
  const { storedAs, ...rest } = served;
  const schema = builtinSchema(served.group, served.version, served.kind);
  return {
    ...rest,
    listKind: `${served.kind}List`,
    singular: served.kind.toLowerCase(),
    table: storedAs ?? tableName(served.group, served.plural),
    custom: false,
    ...(schema === undefined ? {} : { schema }),
    ...(served.subresources.includes('scale') ? { scale: replicasScale } : {}),
  };
}

/** The resources that are served now. */
export class Registry {
  readonly #types = new Map<string, ResourceType>();

  constructor() {
    for (const served of servedResources) this.add(builtinType(served));
  }

  add(type: ResourceType): void {
    this.#types.set(`${apiVersionOf(type)}/${type.plural}`, type);
  }

  /** Takes all versions of a custom resource away. */
  removeCustom(group: string, plural: string): void {
    for (const [key, type] of this.#types)
      if (type.custom && type.group === group && type.plural === plural) this.#types.delete(key);
  }

  find(group: string, version: string, plural: string): ResourceType | undefined {
    return this.#types.get(`${group === '' ? version : `${group}/${version}`}/${plural}`);
  }

  findKind(apiVersion: string, kind: string): ResourceType | undefined {
    for (const type of this.#types.values())
      if (type.kind === kind && apiVersionOf(type) === apiVersion) return type;
    return undefined;
  }

  all(): readonly ResourceType[] {
    return [...this.#types.values()];
  }

  /** Any one version of each stored resource. */
  tables(): ReadonlyMap<string, ResourceType> {
    const tables = new Map<string, ResourceType>();
    for (const type of this.#types.values())
      if (!tables.has(type.table)) tables.set(type.table, type);
    return tables;
  }
}
