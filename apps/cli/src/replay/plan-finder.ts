import type { Decision } from '@dovetail/contracts';

/** The decisions about what a plan bought. Others about a claim are about its end. */
const buying: ReadonlySet<Decision['kind']> = new Set([
  'admit',
  'launch',
  'launch-failed',
  'register',
  'initialize',
]);

/** The decisions whose id, or whose plan's id, begins with some text, and their plans. */
export class PlanFinder {
  readonly #text: string;
  readonly #found = new Map<string, Decision>();
  /** The plan that bought each NodeClaim, by the claim's name. */
  readonly #ofClaims = new Map<string, string>();
  /** The plan that a command was judged by: by its name, and by the plan that buys its nodes. */
  readonly #ofCommands = new Map<string, string>();
  #read = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Takes a decision, in any order. */
  take(decision: Decision): void {
    const { id, planId, claimName, kind, facts } = decision;
    const { whatIf, command } = facts;
    this.#read += 1;
    if (kind === 'admit' && planId !== undefined && claimName !== undefined)
      this.#ofClaims.set(claimName, planId);
    if (kind === 'command' && whatIf !== undefined)
      for (const key of [command, planId]) if (key !== undefined) this.#ofCommands.set(key, whatIf);
    const ids = [id, planId ?? '', whatIf ?? ''];
    if (ids.some((one) => one.startsWith(this.#text))) this.#found.set(id, decision);
  }

  /**
   * The plans of these decisions. The launch of a claim has the plan that bought the claim. One
   * about a command, its nodes or what it buys has the plan that the command was judged by.
   */
  plans(): readonly string[] {
    const plans = [...this.#found.values()].flatMap(
      ({ kind, planId, claimName = '', facts: { command = '' } }) =>
        planId ??
        this.#ofCommands.get(command) ??
        (buying.has(kind) ? this.#ofClaims.get(claimName) : undefined) ??
        [],
    );
    return [...new Set(plans.map((planId) => this.#ofCommands.get(planId) ?? planId))];
  }

  /** Why there is not one plan, and what to do. */
  whyNone(): string {
    const plans = this.plans();
    const [first] = this.#found.keys();
    if (plans.length > 1)
      return `${this.#text} is the beginning of ${String(plans.length)} plans: ${plans.slice(0, 5).join(', ')}; write more of one`;
    if (first !== undefined)
      return `no plan was made for decision ${first}, so there is nothing to make again; dovetail explain decision shows what it weighed`;
    return `none of the ${String(this.#read)} kept decisions has the id ${this.#text}: write an id, or its beginning, as dovetail decisions -o json prints it`;
  }
}
