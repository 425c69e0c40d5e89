// Where HiGHS' parts are. The build of the command as one file puts another module in the place of
// this one.

/** Options of HiGHS' loader. None: its WebAssembly lies in a file beside the code. */
export const wasmLoading: object = {};

/** Whether the code of HiGHS' thread is part of the same file as its caller. */
export const isOneFile: boolean = false;
