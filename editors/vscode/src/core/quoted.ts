/** Lines of a file as they are put into a message. The fence is longer than any in the text. */
export function quoted(file: string, language: string, from: number, to: number, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${file}, lines ${from} to ${to}:\n${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}\n`;
}
