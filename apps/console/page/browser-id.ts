const key = 'dovetail-browser';

/**
 * The name by which the console counts the pages of this browser. A browser that keeps nothing has
 * none, and its pages are counted with all others.
 */
export function browserId(): string {
  try {
    const made = [...crypto.getRandomValues(new Uint8Array(16))]
      .map((byte) => byte.toString(16).padStart(2, '0'))
      .join('');
    const id = localStorage.getItem(key) ?? made;
    localStorage.setItem(key, id);
    return id;
  } catch {
    return '';
  }
}
