/** Whether a subject matches a NATS filter: `*` matches one token, `>` one or more at the end. */
export function matchesSubject(filter: string, subject: string): boolean {
  // Most filters are a subject, or the beginning of one. Followers ask for each message.
  if (!filter.includes('*')) {
    if (!filter.endsWith('>')) return filter === subject;
    return subject.length >= filter.length && subject.startsWith(filter.slice(0, -1));
  }
  const wanted = filter.split('.');
  const tokens = subject.split('.');
  for (const [index, token] of wanted.entries()) {
    if (token === '>') return tokens.length > index;
    if (tokens[index] === undefined || (token !== '*' && token !== tokens[index])) return false;
  }
  return wanted.length === tokens.length;
}
