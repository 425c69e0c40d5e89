import type { Ec2Filter } from '@dovetail/core-ports';
import { byCodeUnits, hexOf } from './digest.js';
import { AwsFault, invalidValue } from './fault.js';
import { admitted, tagFilterValues } from './filters.js';
import type { Timeline } from './timeline.js';

export type TemplateDevice = { readonly deviceName: string; readonly virtualName?: string; readonly ebs?: Readonly<Record<string, string>> };
export type TemplateInterface = { readonly deviceIndex: number; readonly associatePublicIpAddress?: boolean; readonly subnetId?: string; readonly groups: readonly string[]; readonly other: Readonly<Record<string, string>> };

/** A launch template's content, as far as the twin reads it. EC2 checks it when it is used, not when it is made. */
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
  readonly tags: readonly { readonly resourceType: string; readonly tags: Readonly<Record<string, string>> }[];
};

export type TemplateVersion = { readonly number: number; readonly createdMs: number; readonly description?: string; readonly content: TemplateContent };
export type Template = { readonly id: string; readonly name: string; readonly createdMs: number; readonly tags: Readonly<Record<string, string>>; readonly defaultVersion: number; readonly versions: readonly TemplateVersion[] };

/** How requests name a template: by id or name, and a version (a number, `$Latest` or `$Default`). */
export type TemplateReference = { readonly id?: string; readonly name?: string; readonly version?: string };

export type LaunchTemplates = {
  create(order: { readonly name: string; readonly content: TemplateContent; readonly tags: Readonly<Record<string, string>>; readonly description?: string }): Template;
  createVersion(reference: TemplateReference, content: TemplateContent, description?: string): { readonly template: Template; readonly version: TemplateVersion };
  describe(query: { readonly ids?: readonly string[]; readonly names?: readonly string[]; readonly filters: readonly Ec2Filter[] }): readonly Template[];
  get(reference: TemplateReference): Template;
  /** The template and version that a launch uses; a template younger than the consistency time is not found. */
  forLaunch(reference: TemplateReference): { readonly template: Template; readonly version: TemplateVersion };
  delete(reference: TemplateReference): Template;
  deleteVersions(reference: TemplateReference, numbers: readonly number[]): { readonly template: Template; readonly deleted: readonly number[]; readonly missing: readonly number[] };
  tag(id: string, tags: Readonly<Record<string, string>>): boolean;
};

const filterNames: ReadonlySet<string> = new Set(['launch-template-name', 'create-time']);

const missing = (reference: TemplateReference): AwsFault => reference.name !== undefined
  ? new AwsFault('InvalidLaunchTemplateName.NotFoundException', `At least one of the launch templates specified in the request does not exist. Launch template name: ${reference.name}`)
  : new AwsFault('InvalidLaunchTemplateId.NotFound', `The specified launch template, with template ID ${reference.id ?? ''}, does not exist.`);

/** The version that a reference means. */
export function versionOf(template: Template, wanted = '$Default'): TemplateVersion {
  const number = wanted === '$Latest' ? template.versions.at(-1)?.number : wanted === '$Default' ? template.defaultVersion : Number(wanted);
  const version = template.versions.find((candidate) => candidate.number === number);
  if (version === undefined) throw new AwsFault('InvalidLaunchTemplateId.VersionNotFound', `Could not find the specified version ${wanted} for the launch template with ID ${template.id}.`);
  return version;
}

function checkName(name: string): void {
  if (!/^[a-zA-Z0-9().\-/_]{3,128}$/.test(name)) {
    throw new AwsFault('InvalidLaunchTemplateName.MalformedException', `Launch template name ${name} is malformed. Use 3 to 128 letters, digits and the characters ().-/_`);
  }
}

function checkContent(content: TemplateContent): void {
  const { userData } = content;
  if (userData !== undefined && (userData.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(userData))) {
    throw new AwsFault('InvalidUserData.Malformed', 'Invalid BASE64 encoding of user data.');
  }
  if (content.imageId !== undefined && !/^(ami-|resolve:ssm:)/.test(content.imageId)) throw invalidValue('imageId', content.imageId, 'Expected: \'ami-...\'.');
}

function newVersion(number: number, createdMs: number, content: TemplateContent, description: string | undefined): TemplateVersion {
  checkContent(content);
  return { number, createdMs, content, ...(description === undefined ? {} : { description }) };
}

function filterValue(template: Template, name: string): readonly string[] | undefined {
  if (name === 'launch-template-name') return [template.name];
  return name === 'create-time' ? [new Date(template.createdMs).toISOString()] : tagFilterValues(template.tags, name);
}

type Store = { readonly templates: Map<string, Template>; readonly timeline: Timeline; readonly seed: string };

function find(store: Store, reference: TemplateReference): Template | undefined {
  return reference.name === undefined ? [...store.templates.values()].find((template) => template.id === reference.id) : store.templates.get(reference.name);
}

function existing(store: Store, reference: TemplateReference): Template {
  const template = find(store, reference);
  if (template === undefined) throw missing(reference);
  return template;
}

function makers(store: Store): Pick<LaunchTemplates, 'create' | 'createVersion'> {
  const { templates, timeline, seed } = store;
  let made = 0;
  return {
    create({ name, content, tags, description }) {
      checkName(name);
      if (templates.has(name)) throw new AwsFault('InvalidLaunchTemplateName.AlreadyExistsException', `Launch template name already in use: ${name}`);
      const version = newVersion(1, timeline.nowMs(), content, description);
      const template: Template = { id: `lt-${hexOf(17, seed, 'lt', (made += 1))}`, name, createdMs: timeline.nowMs(), tags, defaultVersion: 1, versions: [version] };
      templates.set(name, template);
      return template;
    },
    createVersion(reference, content, description) {
      const template = existing(store, reference);
      const version = newVersion((template.versions.at(-1)?.number ?? 0) + 1, timeline.nowMs(), content, description);
      const grown = { ...template, versions: [...template.versions, version] };
      templates.set(template.name, grown);
      return { template: grown, version };
    },
  };
}

/** The account's launch templates in its region. */
export function createLaunchTemplates(deps: { readonly timeline: Timeline; readonly seed: string; readonly consistencyMs: number }): LaunchTemplates {
  const { timeline } = deps;
  const templates = new Map<string, Template>();
  const store: Store = { templates, timeline, seed: deps.seed };
  const get = (reference: TemplateReference): Template => existing(store, reference);
  return {
    ...makers(store), get,
    describe: ({ ids = [], names = [], filters }) => {
      const asked = [...ids.map((id) => get({ id })), ...names.map((name) => get({ name }))];
      const all = ids.length + names.length > 0 ? asked : [...templates.values()].sort((left, right) => byCodeUnits(left.id, right.id));
      return admitted(all, filters, (template) => (name) => filterValue(template, name), filterNames);
    },
    forLaunch(reference) {
      const template = get(reference);
      if (timeline.nowMs() - template.createdMs < deps.consistencyMs) throw missing(reference);
      return { template, version: versionOf(template, reference.version) };
    },
    delete(reference) {
      const template = get(reference);
      templates.delete(template.name);
      return template;
    },
    deleteVersions: (reference, numbers) => deleteVersions(templates, get(reference), numbers),
    tag(id, tags) {
      const template = find(store, { id });
      if (template !== undefined) templates.set(template.name, { ...template, tags: { ...template.tags, ...tags } });
      return template !== undefined;
    },
  };
}

/** The default version can't be deleted; EC2 answers each version that was not there. */
function deleteVersions(templates: Map<string, Template>, template: Template, numbers: readonly number[]): ReturnType<LaunchTemplates['deleteVersions']> {
  if (numbers.includes(template.defaultVersion)) {
    throw new AwsFault('InvalidLaunchTemplateVersion', `The default version ${template.defaultVersion} of the launch template ${template.id} cannot be deleted. Delete the launch template instead.`);
  }
  const present = new Set(template.versions.map((version) => version.number));
  const deleted = numbers.filter((number) => present.has(number));
  const kept = { ...template, versions: template.versions.filter((version) => !deleted.includes(version.number)) };
  templates.set(template.name, kept);
  return { template: kept, deleted, missing: numbers.filter((number) => !present.has(number)) };
}
