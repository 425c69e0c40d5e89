/** Whether the text matches a pattern of IAM: `*` is any text and `?` any one character. */
export function matches(pattern: string, text: string): boolean {
  let [at, from] = [0, 0];
  // Where the last `*` stands, and how far its text goes. One step back suffices: an earlier `*`
  // can take nothing that the last one could not.
  let [star, taken] = [-1, 0];
  while (from < text.length) {
    const wanted = pattern[at];
    if (wanted === '*') {
      star = at;
      taken = from;
      at += 1;
    } else if (wanted === '?' || wanted === text[from]) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      taken += 1;
      from = taken;
      at = star + 1;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(at));
}
