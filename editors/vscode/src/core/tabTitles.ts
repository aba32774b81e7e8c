// Shortens the titles of chats for narrow tabs.

/** A word, or a part of a path, with what follows it up to the next one. */
const parts = /[^\s/:]*[\s/:]+/y;

/** Returns titles without the words at the start that all of them share. A title never becomes empty. */
export function withoutSharedStart(titles: string[]): string[] {
  const [first] = titles;
  if (first === undefined || titles.length < 2) return titles;
  let shared = 0;
  for (;;) {
    parts.lastIndex = shared;
    const end = parts.test(first) ? parts.lastIndex : 0;
    if (end === 0 || !titles.every((title) => title.startsWith(first.slice(0, end)) && title.length > end)) break;
    shared = end;
  }
  return titles.map((title) => title.slice(shared));
}
