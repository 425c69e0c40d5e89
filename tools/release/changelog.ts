// The section of the changelog that tells of a version.

/** The text under `## VERSION`, as notes of the release. Undefined if there is no such section. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const found = sections.find((section) => new RegExp(`^\\[?${escaped(version)}\\b`).test(section));
  return found?.split('\n').slice(1).join('\n').trim();
}

const escaped = (text: string): string => text.replaceAll('.', '\\.');
