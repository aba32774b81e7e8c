/**
 * Text that a person decides by, with what can't be seen written out: control characters, and those that turn
 * the direction of writing or take no room. A command must not look like another one.
 */
export function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]|[\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
