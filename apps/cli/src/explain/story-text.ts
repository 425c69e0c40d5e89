import type { Decision } from '@dovetail/contracts';
import { dollarsText, factsWords, type FactWords, periodText } from '@dovetail/core-fleet/words';
import { decisionWords } from '@dovetail/service-kit';

import { columns, type Layout } from '../layout/columns.js';
import { sentence } from '../layout/sentence.js';
import { alternativesOf, reasonsOf, type Story } from './story.js';

/** The name and version of the form of `dovetail explain pod … -o json`. It only gains fields. */
const storySchema = 'dovetail.sh/explain/v1';

/** A story for people. Only a terminal gives a width. */
export function storyText(story: Story, nowMs: number, layout: Layout): string {
  return [
    headline(story, nowMs, layout),
    reasonsText(story, layout),
    alternativesText(story, layout),
    factsText(story),
    historyText(story, nowMs, layout),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function headline(story: Story, nowMs: number, layout: Layout): string {
  const { kind, name, decisive } = story;
  const { source, atMs, id, traceId } = decisive;
  const when = `${periodText(Math.max(0, nowMs - atMs))} ago`;
  const of = kind === 'decision' ? decisive.kind : `${kind} ${name}`;
  const trace = traceId === undefined ? '' : `; trace ${traceId}`;
  const told = `${decisive.kind} by ${source}, ${when}${priceText(story)}; decision ${id}${trace}`;
  return `${sentence(`${of}: ${decisive.summary}`, layout)}\n${sentence(told, layout)}\n`;
}

/** The price, and how far it may be above the least possible one. */
function priceText({ decisive, plan }: Story): string {
  const { priceMicrosPerHour: price, lowerBoundMicrosPerHour: own } = decisive;
  if (price === undefined || price === 0) return '';
  const bound =
    own ?? (plan?.priceMicrosPerHour === price ? plan.lowerBoundMicrosPerHour : undefined);
  const about = decisive.priceEstimated === true ? '~' : '';
  return `, ${about}${dollarsText(price)}${bound === undefined ? '' : ` (no plan costs less than ${dollarsText(bound)})`}`;
}

function reasonsText(story: Story, layout: Layout): string {
  const reasons = reasonsOf(story);
  if (reasons.length === 0) return 'REASONS\nnone was given\n';
  const rows = reasons.map(({ decision, subject = '-', code, fell, message }) => [
    decision,
    subject.replace(/^NodePool\//, ''),
    code,
    fell === undefined ? '-' : `${String(fell.count)} of ${String(fell.of)}`,
    message,
  ]);
  const remedies = [...new Set(reasons.flatMap(({ remedy }) => remedy ?? []))];
  return `REASONS\n${columns(['SAID BY', 'POOL', 'STEP', 'FELL OUT', 'WHY'], rows, layout)}${remedies.map((one) => `${sentence(`remedy: ${one}`, layout)}\n`).join('')}`;
}

const zonePattern = / ?\b[a-z]{2}(?:-[a-z]+)+-\d[a-z]\b/;

/** Options that differ only in their zone share a row. */
function alternativesText(story: Story, layout: Layout): string {
  const rows = new Map<string, { readonly cells: readonly string[]; readonly zones: string[] }>();
  for (const { what, priceMicrosPerHour: price, reason = '-' } of alternativesOf(story)) {
    const zone = zonePattern.exec(what)?.[0].trim() ?? '-';
    const cells = [
      what.replace(zonePattern, ''),
      price === undefined ? '-' : (price / 1e6).toFixed(4),
      reason,
    ];
    const row = rows.get(cells.join(' ')) ?? { cells, zones: [] };
    row.zones.push(zone);
    rows.set(cells.join(' '), row);
  }
  if (rows.size === 0) return '';
  const table = [...rows.values()].map(({ cells: [what = '', price = '', reason = ''], zones }) => [
    what,
    price,
    reason,
    zones.join(' '),
  ]);
  return `OTHER OPTIONS, cheapest first\n${columns(['OPTION', 'PRICE $/H', 'REASON', 'ZONES'], table, layout)}`;
}

/** The further facts of a decision, by name. Others have them in JSON. */
function factsText({ kind, decisive }: Story): string {
  const facts = factsWords(decisive.facts);
  if (kind !== 'decision' || facts.length === 0) return '';
  return `FACTS\n${facts.map(factText).join('')}`;
}

/** One value stands beside its name, and several below it. */
const factText = ({ name, values }: FactWords): string =>
  values.length === 1
    ? `${name}: ${values.join('')}\n`
    : `${name}:\n${values.map((value) => `  ${value}\n`).join('')}`;

/** Decisions that say the same one after the other share a row, which has the time of the last. */
function historyText({ history }: Story, nowMs: number, layout: Layout): string {
  const runs: { last: Decision; times: number }[] = [];
  for (const decision of history) {
    const run = runs.at(-1);
    const repeats = run?.last.kind === decision.kind && run.last.summary === decision.summary;
    if (run !== undefined && repeats) Object.assign(run, { last: decision, times: run.times + 1 });
    else runs.push({ last: decision, times: 1 });
  }
  const rows = runs.map(({ last, times }) => [
    `${periodText(Math.max(0, nowMs - last.atMs))} ago`,
    last.kind,
    decisionWords(last).price,
    times === 1 ? last.summary : `${String(times)} times: ${last.summary}`,
  ]);
  return `HISTORY\n${columns(['WHEN', 'KIND', 'PRICE $/H', 'SUMMARY'], rows, layout)}`;
}

const timed = (decision: Decision) => ({
  time: new Date(decision.atMs).toISOString(),
  ...decision,
});

/** A story for machines. */
export const storyJson = (story: Story): string =>
  `${JSON.stringify(
    {
      schema: storySchema,
      kind: story.kind,
      name: story.name,
      summary: story.decisive.summary,
      decision: story.decisive.id,
      reasons: reasonsOf(story),
      alternatives: alternativesOf(story),
      history: story.history.map(timed),
    },
    undefined,
    2,
  )}\n`;
