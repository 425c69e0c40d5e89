import { setImmediate } from 'node:timers/promises';

import type { MetricDefinitions, MetricSample, MetricSamples } from '@dovetail/core-ports';

type Labels = Readonly<Record<string, string>>;

/**
 * The characters of one part of the page. It trades turns of the event loop for the time that each
 * takes: about a millisecond of text.
 */
const partLength = 256 * 1_024;

/** Gauges that are computed at each scrape: nothing of them is kept between two. */
export class ScrapedGauges {
  /** The help texts of all such gauges by name. */
  readonly #helps: ReadonlyMap<string, string>;
  readonly #sources = new Map<string, () => MetricSamples>();

  constructor(definitions: MetricDefinitions) {
    this.#helps = new Map(
      Object.entries(definitions).flatMap(([name, { atScrape, help }]) =>
        atScrape === undefined ? [] : [[name, help] as const],
      ),
    );
  }

  /** Shows the gauge until the answer is called. Throws for one that is not declared so. */
  show(name: string, samples: () => MetricSamples): () => void {
    if (!this.#helps.has(name)) throw new Error(`${name} is not declared with atScrape`);
    this.#sources.set(name, samples);
    return () => {
      // A later epoch may have begun to show it.
      if (this.#sources.get(name) === samples) this.#sources.delete(name);
    };
  }

  /** The gauges in Prometheus' text format, in parts. */
  async *render(): AsyncGenerator<string> {
    const textOf = cachedTexts();
    for (const [name, help] of this.#helps) {
      let part = `\n# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} gauge\n`;
      for (const sample of this.#sources.get(name)?.() ?? []) {
        if (sample !== undefined) part += lineOf(name, sample, textOf);
        if (sample !== undefined && part.length < partLength) continue;
        yield part;
        part = '';
        await setImmediate();
      }
      yield part;
    }
  }
}

function lineOf(
  name: string,
  { value, labels = {}, more }: MetricSample,
  textOf: (labels: Labels) => string,
): string {
  const all = [textOf(labels), more === undefined ? '' : labelsText(more)];
  const inBraces = all.filter((text) => text !== '').join(',');
  return `${name}${inBraces === '' ? '' : `{${inBraces}}`} ${String(value)}\n`;
}

/** The text of labels. Those of one object are written once. */
function cachedTexts(): (labels: Labels) => string {
  const texts = new WeakMap<Labels, string>();
  return (labels) => {
    const known = texts.get(labels);
    if (known !== undefined) return known;
    const text = labelsText(labels);
    texts.set(labels, text);
    return text;
  };
}

/** Labels as they stand in braces. Prometheus takes an empty value for none. */
const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');

const escapedHelp = (text: string): string =>
  text.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
const escaped = (text: string): string => escapedHelp(text).replaceAll('"', String.raw`\"`);
