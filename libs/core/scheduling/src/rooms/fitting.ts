// Reads here are unchecked for speed: every packing calls this for every node that it tries.

/**
 * Returns how many times `requests` fits between `used` and `room`; 0 if `used` itself does not
 * fit. Invariant: the three vectors have the same length.
 */
export function timesFitting(
  room: Float64Array,
  used: Float64Array,
  requests: Float64Array,
): number {
  let times = Infinity;
  for (let index = 0; index < requests.length; index += 1) {
    const wanted = requests[index] as number;
    const taken = used[index] as number;
    if (wanted <= 0) {
      if (taken > 0 && taken > (room[index] as number)) return 0;
      continue;
    }
    const fitting = Math.floor(((room[index] as number) - taken) / wanted);
    if (fitting < times) times = fitting;
  }
  return times < 0 ? 0 : times;
}
