/**
 * Text that a person decides by, with what can't be seen written out: control characters, and those that turn
 * the direction of writing or take no room. A command must not look like another one.
 */
export function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]|[\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu, written);
}

/** The same for a value within a line, which must not look like a line of its own. */
export function visibleValue(text: string): string {
  return visible(text).replace(/[\n\t]/g, written);
}

function written(char: string): string {
  return `\\u{${char.codePointAt(0)!.toString(16)}}`;
}
