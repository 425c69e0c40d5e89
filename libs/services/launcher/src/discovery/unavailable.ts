import type { UnavailableOffering } from '@dovetail/contracts';
import {
  type InstanceType,
  markKeys,
  type Offering,
  type OfferingIdentity,
  offeringKey,
} from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';

/** How long offerings are avoided. Milliseconds. */
export type UnavailableOptions = {
  /** How long an offering without capacity is avoided at first. */
  readonly avoidMs: number;
  /** The longest, after it failed again and again: each failure in a row doubles the time. */
  readonly avoidMaxMs: number;
};

/** Offerings without capacity: until when each is avoided, and how often in a row it failed. */
export class UnavailableOfferings {
  readonly #options: UnavailableOptions;
  readonly #known = new Map<string, UnavailableOffering>();
  #sequence = 0;

  constructor(options: UnavailableOptions) {
    this.#options = options;
  }

  /** Grows with each change, so that derived values can be kept. */
  get sequence(): number {
    return this.#sequence;
  }

  /**
   * Marks a failure; answers what is to be published. A failure soon after the last one ended
   * counts as in a row.
   */
  fail(offering: OfferingIdentity, awsCode: string, nowMs: number): UnavailableOffering {
    const held = this.#known.get(offeringKey(offering));
    const recent = held !== undefined && nowMs < held.untilMs + this.#options.avoidMaxMs;
    // Several errors of one fleet answer, or of fleets sent before the first answer, are one
    // failure.
    if (held !== undefined && held.untilMs > nowMs) return held;
    const failures = recent ? held.failures + 1 : 1;
    const { instanceType, zone, capacityType } = offering;
    const marked = {
      instanceType,
      zone,
      capacityType,
      awsCode,
      failures,
      untilMs:
        nowMs + Math.min(this.#options.avoidMaxMs, this.#options.avoidMs * 2 ** (failures - 1)),
    };
    this.#known.set(offeringKey(offering), marked);
    this.#sequence += 1;
    return marked;
  }

  /** Forgets the failures of an offering that launched. True when it or its type was marked. */
  succeed(offering: OfferingIdentity): boolean {
    const had = markKeys(offering).filter((key) => this.#known.delete(key)).length > 0;
    if (had) this.#sequence += 1;
    return had;
  }

  /** Takes over a mark that another service published; the later end stands. */
  learn(marked: UnavailableOffering): void {
    const held = this.#known.get(offeringKey(marked));
    if (held !== undefined && held.untilMs >= marked.untilMs) return;
    this.#known.set(offeringKey(marked), marked);
    this.#sequence += 1;
  }

  isAvoided(offering: OfferingIdentity, nowMs: number): boolean {
    return markKeys(offering).some((key) => (this.#known.get(key)?.untilMs ?? 0) > nowMs);
  }

  avoided(nowMs: number): readonly UnavailableOffering[] {
    return [...this.#known.values()]
      .filter((each) => each.untilMs > nowMs)
      .sort((a, b) => compareText(offeringKey(a), offeringKey(b)));
  }

  /** The next moment at which an offering may be tried again. */
  nextReturnMs(nowMs: number): number | undefined {
    const ends = this.avoided(nowMs).map((each) => each.untilMs);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** The type with its avoided offerings unavailable; the same value when none is. */
  apply(type: InstanceType, nowMs: number): InstanceType {
    const blocked = (offering: Offering): boolean =>
      offering.available && this.isAvoided({ ...offering, instanceType: type.name }, nowMs);
    if (!type.offerings.some(blocked)) return type;
    return {
      ...type,
      offerings: type.offerings.map((offering) =>
        blocked(offering) ? { ...offering, available: false } : offering,
      ),
    };
  }
}
