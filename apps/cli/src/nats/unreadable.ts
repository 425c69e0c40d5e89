import type { MalformedMessage } from '@dovetail/contracts';

/** Which decision cannot be read, and why. */
export const malformedText = ({
  sequence,
  field,
  reason,
}: Pick<MalformedMessage, 'sequence' | 'field' | 'reason'>): string =>
  `decision ${String(sequence)} cannot be read: ${field}: ${reason} (made by a newer version?)`;

/** The decisions that could not be read: the first, and how many there are. */
export class Unreadable {
  #first: string | undefined;
  #count = 0;

  /** Takes one of them. */
  take(message: MalformedMessage): void {
    this.#first ??= malformedText(message);
    this.#count += 1;
  }

  /** A line for people. Empty: all were read. */
  line(): string {
    if (this.#first === undefined) return '';
    const others = this.#count - 1;
    return `${this.#first}${others === 0 ? '' : `, nor can ${String(others)} more`}\n`;
  }
}
