/**
 * How HiGHS comes to its WebAssembly: options of its loader. None: it lies in a file beside the
 * code. The build of the command as one file puts another module in the place of this one.
 */
export const wasmLoading: object = {};
