/** The version of all services. A test compares it with the repository's package. */
export const version = '0.1.0';
