/** Compression, injected because pure code has none. */
export interface Packing {
  /** The text in fewer bytes. Equal texts give equal bytes only in one release of the runtime. */
  pack(text: string): Uint8Array;
  /** The text of these bytes. Throws if they are none of `pack`. */
  unpack(bytes: Uint8Array): string;
}
