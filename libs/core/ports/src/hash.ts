/** Cryptographic hashing, injected because pure code has none. */
export interface Hash {
  /** SHA-256 of the text's UTF-8 bytes, 64 lower-case hexadecimal digits. */
  sha256Hex(text: string): string;
}
