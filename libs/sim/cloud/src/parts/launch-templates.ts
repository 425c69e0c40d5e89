import { compareText } from '@dovetail/core-kube-model';
import type { Ec2Filter } from '@dovetail/core-ports';

import { AwsFault, invalidValue } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import { admitted, tagFilterValues } from '../foundation/filters.js';
import type { Timeline } from '../foundation/timeline.js';

type TemplateDevice = {
  readonly deviceName: string;
  readonly virtualName?: string;
  readonly ebs?: Readonly<Record<string, string>>;
};
type TemplateInterface = {
  readonly deviceIndex: number;
  readonly associatePublicIpAddress?: boolean;
  readonly subnetId?: string;
  readonly groups: readonly string[];
  readonly other: Readonly<Record<string, string>>;
};

/**
 * The content of a launch template that the twin reads. EC2 checks it at launch, not at creation.
 */
export type TemplateContent = {
  readonly imageId?: string;
  readonly instanceType?: string;
  readonly userData?: string;
  readonly instanceProfile?: { readonly name?: string; readonly arn?: string };
  readonly securityGroupIds: readonly string[];
  readonly interfaces: readonly TemplateInterface[];
  readonly blockDevices: readonly TemplateDevice[];
  readonly metadataOptions: Readonly<Record<string, string>>;
  readonly monitoring?: boolean;
  readonly ebsOptimized?: boolean;
  readonly tenancy?: 'default' | 'dedicated';
  /** Members that are kept and answered, and change no launch: `EnclaveOptions` and the like. */
  readonly kept: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly tags: readonly {
    readonly resourceType: string;
    readonly tags: Readonly<Record<string, string>>;
  }[];
};

/** One version of a launch template. Versions are never changed. */
export type TemplateVersion = {
  readonly number: number;
  readonly createdMs: number;
  readonly description?: string;
  readonly content: TemplateContent;
};

/** A launch template with its versions. */
export type Template = {
  readonly id: string;
  readonly name: string;
  readonly createdMs: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly defaultVersion: number;
  readonly versions: readonly TemplateVersion[];
};

/** Names a template by id or name, and a version: a number, `$Latest` or `$Default`. */
export type TemplateReference = {
  readonly id?: string;
  readonly name?: string;
  readonly version?: string;
};

/** A new launch template with its first version. */
export type TemplateOrder = {
  readonly name: string;
  readonly content: TemplateContent;
  readonly tags: Readonly<Record<string, string>>;
  readonly description?: string;
};

/** A template and one of its versions. */
export type VersionedTemplate = { readonly template: Template; readonly version: TemplateVersion };

const filterNames: ReadonlySet<string> = new Set(['launch-template-name', 'create-time']);

const missing = (reference: TemplateReference): AwsFault =>
  reference.name !== undefined
    ? new AwsFault(
        'InvalidLaunchTemplateName.NotFoundException',
        `At least one of the launch templates specified in the request does not exist. Launch template name: ${reference.name}`,
      )
    : new AwsFault(
        'InvalidLaunchTemplateId.NotFound',
        `The specified launch template, with template ID ${reference.id ?? ''}, does not exist.`,
      );

/** The version that a reference means. */
export function versionOf(template: Template, wanted = '$Default'): TemplateVersion {
  const number =
    wanted === '$Latest'
      ? template.versions.at(-1)?.number
      : wanted === '$Default'
        ? template.defaultVersion
        : Number(wanted);
  const version = template.versions.find((candidate) => candidate.number === number);
  if (version === undefined)
    throw new AwsFault(
      'InvalidLaunchTemplateId.VersionNotFound',
      `Could not find the specified version ${wanted} for the launch template with ID ${template.id}.`,
    );
  return version;
}

function checkName(name: string): void {
  if (!/^[a-zA-Z0-9().\-/_]{3,128}$/.test(name)) {
    throw new AwsFault(
      'InvalidLaunchTemplateName.MalformedException',
      `Launch template name ${name} is malformed. Use 3 to 128 letters, digits and the characters ().-/_`,
    );
  }
}

function checkContent(content: TemplateContent): void {
  const { userData } = content;
  if (
    userData !== undefined &&
    (userData.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(userData))
  ) {
    throw new AwsFault('InvalidUserData.Malformed', 'Invalid BASE64 encoding of user data.');
  }
  if (content.imageId !== undefined && !/^(ami-|resolve:ssm:)/.test(content.imageId))
    throw invalidValue('imageId', content.imageId, "Expected: 'ami-...'.");
}

function newVersion(
  number: number,
  createdMs: number,
  content: TemplateContent,
  description: string | undefined,
): TemplateVersion {
  checkContent(content);
  return { number, createdMs, content, ...(description === undefined ? {} : { description }) };
}

function filterValue(template: Template, name: string): readonly string[] | undefined {
  if (name === 'launch-template-name') return [template.name];
  return name === 'create-time'
    ? [new Date(template.createdMs).toISOString()]
    : tagFilterValues(template.tags, name);
}

/** The account's launch templates in its region. */
export class LaunchTemplates {
  readonly #timeline: Timeline;
  readonly #seed: string;
  readonly #consistencyMs: number;
  /** By name. */
  readonly #templates = new Map<string, Template>();
  #made = 0;

  /** A template younger than `consistencyMs` cannot be launched from. */
  constructor(deps: {
    readonly timeline: Timeline;
    readonly seed: string;
    readonly consistencyMs: number;
  }) {
    this.#timeline = deps.timeline;
    this.#seed = deps.seed;
    this.#consistencyMs = deps.consistencyMs;
  }

  create({ name, content, tags, description }: TemplateOrder): Template {
    checkName(name);
    if (this.#templates.has(name))
      throw new AwsFault(
        'InvalidLaunchTemplateName.AlreadyExistsException',
        `Launch template name already in use: ${name}`,
      );
    const createdMs = this.#timeline.nowMs();
    const version = newVersion(1, createdMs, content, description);
    this.#made += 1;
    const id = `lt-${hexOf(17, this.#seed, 'lt', this.#made)}`;
    const template = { id, name, createdMs, tags, defaultVersion: 1, versions: [version] };
    this.#templates.set(name, template);
    return template;
  }

  createVersion(
    reference: TemplateReference,
    content: TemplateContent,
    description?: string,
  ): VersionedTemplate {
    const template = this.get(reference);
    const number = (template.versions.at(-1)?.number ?? 0) + 1;
    const version = newVersion(number, this.#timeline.nowMs(), content, description);
    const grown = { ...template, versions: [...template.versions, version] };
    this.#templates.set(template.name, grown);
    return { template: grown, version };
  }

  describe(query: {
    readonly ids?: readonly string[];
    readonly names?: readonly string[];
    readonly filters: readonly Ec2Filter[];
  }): readonly Template[] {
    const { ids = [], names = [], filters } = query;
    const asked = [
      ...ids.map((id) => this.get({ id })),
      ...names.map((name) => this.get({ name })),
    ];
    const all =
      ids.length + names.length > 0
        ? asked
        : [...this.#templates.values()].sort((left, right) => compareText(left.id, right.id));
    return admitted(all, filters, (template) => (name) => filterValue(template, name), filterNames);
  }

  get(reference: TemplateReference): Template {
    const template = this.#find(reference);
    if (template === undefined) throw missing(reference);
    return template;
  }

  /** The template and version that a launch uses. Too young a template is not found. */
  forLaunch(reference: TemplateReference): VersionedTemplate {
    const template = this.get(reference);
    if (this.#timeline.nowMs() - template.createdMs < this.#consistencyMs) throw missing(reference);
    return { template, version: versionOf(template, reference.version) };
  }

  delete(reference: TemplateReference): Template {
    const template = this.get(reference);
    this.#templates.delete(template.name);
    return template;
  }

  /**
   * Deletes versions and names those that did not exist. EC2 refuses to delete the default version.
   */
  deleteVersions(
    reference: TemplateReference,
    numbers: readonly number[],
  ): {
    readonly template: Template;
    readonly deleted: readonly number[];
    readonly missing: readonly number[];
  } {
    const template = this.get(reference);
    if (numbers.includes(template.defaultVersion)) {
      throw new AwsFault(
        'InvalidLaunchTemplateVersion',
        `The default version ${template.defaultVersion} of the launch template ${template.id} cannot be deleted. Delete the launch template instead.`,
      );
    }
    const present = new Set(template.versions.map((version) => version.number));
    const versions = template.versions.filter(({ number }) => !numbers.includes(number));
    const kept = { ...template, versions };
    this.#templates.set(template.name, kept);
    return {
      template: kept,
      deleted: numbers.filter((number) => present.has(number)),
      missing: numbers.filter((number) => !present.has(number)),
    };
  }

  /** Adds tags to a template; false when there is none with this id. */
  retag(id: string, change: (tags: Template['tags']) => Template['tags']): boolean {
    const template = this.#find({ id });
    if (template === undefined) return false;
    this.#templates.set(template.name, { ...template, tags: change(template.tags) });
    return true;
  }

  #find({ name, id }: TemplateReference): Template | undefined {
    return name === undefined
      ? [...this.#templates.values()].find((template) => template.id === id)
      : this.#templates.get(name);
  }
}
