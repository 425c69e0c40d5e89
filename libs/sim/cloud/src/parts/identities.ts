import type { Account } from '../foundation/account.js';
import { accessDenied, type AwsFault } from '../foundation/aws-fault.js';
import { type AccessRequest, decide } from '../policy/evaluate.js';
import type { Policy } from '../policy/policy.js';

/** A role that a service works with: its name and the policies that are attached to it. */
export type Identity = { readonly role: string; readonly policies: readonly Policy[] };

/**
 * Who calls, by access key, and what their policies allow. A key without an identity belongs to the
 * account's administrator and may do everything.
 */
export class Identities {
  readonly #account: Pick<Account, 'accountId'>;
  readonly #byKey = new Map<string, Identity>();
  readonly #sessions = new Map<string, string>();
  #assumed = 0;

  constructor(account: Pick<Account, 'accountId'>) {
    this.#account = account;
  }

  /** Gives an access key its role and policies, in place of those that it had. */
  put(accessKey: string, identity: Identity): void {
    this.#byKey.set(accessKey, identity);
  }

  /**
   * Gives a new access key the policies of the keys that work with a role already, and returns it.
   * A role without such keys may do everything, as the account's administrator.
   */
  assume(role: string, session: string): string {
    const known = [...this.#byKey.values()].find((identity) => identity.role === role);
    this.#assumed += 1;
    const accessKey = `ASIATWIN${String(this.#assumed).padStart(12, '0')}`;
    if (known !== undefined) this.#byKey.set(accessKey, known);
    this.#sessions.set(accessKey, `assumed-role/${role}/${session}`);
    return accessKey;
  }

  /** The caller's ARN, as STS and denials name it. */
  arnOf(accessKey: string | undefined): string {
    const { accountId } = this.#account;
    const session = this.#sessions.get(accessKey ?? '');
    if (session !== undefined) return `arn:aws:sts::${accountId}:${session}`;
    const identity = this.#byKey.get(accessKey ?? '');
    return identity === undefined
      ? `arn:aws:iam::${accountId}:user/dovetail`
      : `arn:aws:sts::${accountId}:assumed-role/${identity.role}/${accessKey ?? ''}`;
  }

  /**
   * The fault of the first request that the caller's policies do not allow, if there is one. The
   * service that was called reports it with its own code, also for `iam:PassRole`.
   */
  denial(
    accessKey: string | undefined,
    service: string,
    requests: () => Iterable<AccessRequest>,
  ): AwsFault | undefined {
    const identity = this.#byKey.get(accessKey ?? '');
    if (identity === undefined) return undefined;
    for (const request of requests()) {
      const decision = decide(identity.policies, request);
      if (decision.kind === 'allow') continue;
      const { action, resource } = request;
      const because =
        decision.kind === 'explicit-deny'
          ? 'with an explicit deny in an identity-based policy'
          : `because no identity-based policy allows the ${action} action`;
      return accessDenied(
        service,
        `User: ${this.arnOf(accessKey)} is not authorized to perform: ${action} on resource: ${resource} ${because}`,
      );
    }
    return undefined;
  }
}
