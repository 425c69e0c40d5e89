import { lookUp, put } from '@dovetail/core-invariant';

import type { Parsed } from './project/raw.js';

/** Text and parts by their content, up to a number of characters. */
class Generation {
  readonly texts = new Map<string, string>();
  readonly parts = new Map<string, object>();
  characters = 0;
}

/**
 * The characters of one generation. Two of them cost a few megabytes, and hold thousands of
 * different parts. The pods of one owner have equal parts and are listed side by side.
 */
const charactersMax = 1_000_000;

/** An entry takes as much beside its content, so that many short ones are few megabytes, too. */
const charactersPerEntry = 100;

/**
 * The longest part that is kept by its whole content. Of a longer one, for instance annotations
 * with a launch intent, the members are kept.
 */
const partLengthMax = 4_096;

/** The texts that no other object of the kind has. */
const ownTexts: ReadonlySet<string> = new Set(['uid', 'name', 'resourceVersion']);

/**
 * Gives equal parts of objects one place in memory. The pods of one owner are equal in labels,
 * tolerations, requests and most others, which take three quarters of their memory.
 *
 * Invariant: objects are data as JSON carries it, and nobody changes them. Parts that were not used
 * for long are forgotten, so memory is bounded whatever the objects are.
 */
export class EqualParts {
  #young = new Generation();
  #old = new Generation();

  /** An object equal to this one, whose parts are those of earlier objects where they are equal. */
  of<T extends object>(object: T): T {
    return this.#withSharedMembers(object, ownTexts) as T;
  }

  /**
   * A parser like this one, whose values share equal parts. `stays`: whether a value is there for
   * long. Default: each is.
   */
  reading<T extends object>(
    parse: (raw: unknown) => Parsed<T>,
    stays: (value: T) => boolean = () => true,
  ): (raw: unknown) => Parsed<T> {
    return (raw) => {
      const read = parse(raw);
      return read.ok && stays(read.value) ? { ok: true, value: this.of(read.value) } : read;
    };
  }

  #withSharedMembers(whole: object, except: ReadonlySet<string> = new Set()): object {
    if (Array.isArray(whole)) return whole.map((member: unknown) => this.#shared(member));
    // A copy has the same shape, so its members are replaced in place.
    const copy: Record<string, unknown> = { ...whole };
    for (const key of Object.keys(copy))
      if (!except.has(key)) put(copy, key, this.#shared(lookUp(copy, key)));
    return copy;
  }

  #shared(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    return typeof value === 'object' && value !== null ? this.#part(value) : value;
  }

  #text(text: string): string {
    const known = this.#young.texts.get(text);
    if (known !== undefined) return known;
    const kept = this.#old.texts.get(text) ?? text;
    this.#young.texts.set(kept, kept);
    this.#grow(kept.length);
    return kept;
  }

  #part(part: object): object {
    const content = JSON.stringify(part);
    if (content.length > partLengthMax) return this.#withSharedMembers(part);
    const known = this.#young.parts.get(content);
    if (known !== undefined) return known;
    const kept = this.#old.parts.get(content) ?? this.#withSharedMembers(part);
    this.#young.parts.set(content, kept);
    this.#grow(content.length);
    return kept;
  }

  /** A full generation becomes the old one. Of the one before, only what was used since stays. */
  #grow(characters: number): void {
    this.#young.characters += characters + charactersPerEntry;
    if (this.#young.characters < charactersMax) return;
    this.#old = this.#young;
    this.#young = new Generation();
  }
}
