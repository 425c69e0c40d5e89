import protobuf from 'protobufjs/minimal.js';

/**
 * 64-bit integers decode to numbers: amounts here stay below 2^53, and every number read is checked to be a safe integer.
 * Must run before the generated module is loaded, which fixes its defaults then.
 */
(protobuf.util as { Long: unknown }).Long = undefined;
protobuf.configure();
