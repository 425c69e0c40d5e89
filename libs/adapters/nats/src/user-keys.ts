import { nkeys } from '@nats-io/transport-node';

/** The two halves of a user's NKey. The seed is secret; the server knows the other half. */
export type UserKey = { readonly seed: string; readonly publicKey: string };

/** A new key. */
export function newUserKey(): UserKey {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}

/** The key of a seed. Throws when the text is no seed of a user. */
export function userKeyOf(seed: string): UserKey {
  const pair = nkeys.fromSeed(new TextEncoder().encode(seed));
  const publicKey = pair.getPublicKey();
  if (!publicKey.startsWith('U')) throw new Error('it is the seed of something else than a user');
  return { seed, publicKey };
}
